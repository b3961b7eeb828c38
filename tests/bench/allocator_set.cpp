// The same rules (default settings, no limit, one stream) over std::set, as PyTorch itself has them: what tests/bench/allocator.c is
// compared with. Reads the same scripts, prints the same figures.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {
struct Block {
    std::uint64_t address;
    std::int64_t size;
    Block *left, *right;
    bool is_large, is_free;
};
struct Less {
    bool operator()(const Block *x, const Block *y) const { return x->size != y->size ? x->size < y->size : x->address < y->address; }
};
struct Request {
    std::int64_t bytes;
    std::uint32_t tensor;
};

constexpr std::int64_t MIB = 1 << 20;

class Allocator {
  public:
    explicit Allocator(std::uint32_t tensors) : of(tensors, nullptr) {}
    ~Allocator() {
        for (Block *first : segments)
            for (Block *at = first; at;) {
                Block *next = at->right;
                delete at;
                at = next;
            }
    }
    void allocate(std::uint32_t tensor, std::int64_t bytes) {
        std::int64_t size = (bytes + 511) / 512 * 512;
        bool is_large = size > MIB;
        Block key{0, size, nullptr, nullptr, is_large, true};
        auto &pool = pools[is_large];
        auto found = pool.lower_bound(&key);
        Block *block;
        if (found != pool.end()) {
            block = *found;
            pool.erase(found);
        } else {
            std::int64_t segment = !is_large ? 2 * MIB : size < 10 * MIB ? 20 * MIB : (size + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
            block = new Block{cursor, segment, nullptr, nullptr, is_large, false};
            cursor += static_cast<std::uint64_t>(segment + 2 * MIB);
            segments.push_back(block);
            reserved += segment;
            peak = reserved > peak ? reserved : peak;
        }
        block->is_free = false;
        std::int64_t rest = block->size - size;
        if (is_large ? rest > MIB : rest >= 512) {
            Block *after = new Block{block->address + static_cast<std::uint64_t>(size), rest, block, block->right, is_large, true};
            if (block->right)
                block->right->left = after;
            block->right = after;
            block->size = size;
            pool.insert(after);
        }
        of[tensor] = block;
    }
    void free(std::uint32_t tensor) {
        Block *block = of[tensor];
        auto &pool = pools[block->is_large];
        if (block->right && block->right->is_free)
            absorb(pool, block, block->right, block->right);
        if (block->left && block->left->is_free) {
            Block *left = block->left;
            absorb(pool, left, block, left);
            block = left;
        }
        block->is_free = true;
        pool.insert(block);
    }
    std::int64_t peak = 0;

  private:
    using Pool = std::set<Block *, Less>;
    static void absorb(Pool &pool, Block *left, Block *right, Block *indexed) {
        pool.erase(indexed);
        left->size += right->size;
        left->right = right->right;
        if (right->right)
            right->right->left = left;
        delete right;
    }
    Pool pools[2];
    std::vector<Block *> of, segments;
    std::uint64_t cursor = std::uint64_t(1) << 40;
    std::int64_t reserved = 0;
};

void measure(const std::string &name, const std::vector<Request> &requests, std::uint32_t tensors) {
    double best = 1e9;
    std::int64_t peak = 0;
    std::size_t repeats = 1 + 400000 / (requests.size() + 1);
    for (int round = 0; round < 5; round++) {
        auto start = std::chrono::steady_clock::now();
        for (std::size_t i = 0; i < repeats; i++) {
            Allocator a(tensors);
            for (const Request &r : requests)
                r.bytes ? a.allocate(r.tensor, r.bytes) : a.free(r.tensor);
            peak = a.peak;
        }
        double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / double(repeats);
        best = took < best ? took : best;
    }
    std::printf("{\"name\":\"%s\",\"requests\":%zu,\"ms\":%.3f,\"requests_per_second\":%.0f,\"peak_reserved_bytes\":%lld}\n", name.c_str(), requests.size(),
                best * 1e3, double(requests.size()) / best, static_cast<long long>(peak));
}
} // namespace

int main() {
    static char line[4096], name[4096];
    std::vector<Request> requests;
    std::uint32_t tensors = 0;
    for (bool is_end = false; !is_end;) {
        is_end = !std::fgets(line, sizeof line, stdin);
        unsigned tensor;
        long long bytes;
        if (is_end || std::strncmp(line, "# ", 2) == 0) {
            if (!requests.empty())
                measure(name, requests, tensors);
            requests.clear();
            tensors = 0;
            if (!is_end)
                (void)std::sscanf(line, "# %4000s", name);
        } else if (std::sscanf(line, "alloc %u %lld", &tensor, &bytes) == 2 && bytes > 0) {
            requests.push_back({bytes, tensor});
            tensors = tensor >= tensors ? tensor + 1 : tensors;
        } else if (std::sscanf(line, "free %u", &tensor) == 1) {
            requests.push_back({0, tensor});
        }
    }
}
