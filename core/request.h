/* One call to the simulated allocator. The only thing that the Orchestrator hands to the Simulator. */
#ifndef OC_REQUEST_H
#define OC_REQUEST_H

#include <stdint.h>

typedef struct oc_request {
    int64_t time_ns;
    int64_t bytes;   /* > 0: allocate that many for `tensor`; 0: free `tensor` */
    uint32_t tensor; /* number of the tensor, from 0 */
} oc_request;

#endif
