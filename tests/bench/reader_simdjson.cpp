// The on-demand scan of simdjson over a valid profile: every event's ph, cat, name, ts, dur, and of memory events address and bytes; the text is in
// memory. Usage: reader_simdjson PROFILE.json ROUNDS. Prints the best seconds and the events.
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

static uint64_t scan(simdjson::ondemand::parser &parser, const simdjson::padded_string &text, uint64_t &sum) {
    uint64_t count = 0;
    simdjson::ondemand::document document = parser.iterate(text);
    for (simdjson::ondemand::object event : document["traceEvents"].get_array()) {
        for (auto field : event) {
            const std::string_view key = field.unescaped_key();
            if (key == "ph" || key == "cat" || key == "name") {
                sum += std::string_view(field.value()).size();
            } else if (key == "ts" || key == "dur") {
                sum += static_cast<uint64_t>(double(field.value()));
            } else if (key == "args") {
                for (auto inner : simdjson::ondemand::object(field.value())) {
                    const std::string_view name = inner.unescaped_key();
                    if (name == "Bytes")
                        sum += static_cast<uint64_t>(int64_t(inner.value()));
                    else if (name == "Addr")
                        sum += uint64_t(inner.value());
                }
            }
        }
        count++;
    }
    return count;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    const simdjson::padded_string text = simdjson::padded_string::load(argv[1]);
    simdjson::ondemand::parser parser;
    double best = 1e300;
    uint64_t count = 0, sum = 0;
    for (int round = 0; round < std::atoi(argv[2]); round++) {
        const auto start = std::chrono::steady_clock::now();
        count = scan(parser, text, sum);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = took.count() < best ? took.count() : best;
    }
    std::printf("{\"seconds\":%.6f,\"events\":%llu,\"sum\":%llu}\n", best, static_cast<unsigned long long>(count), static_cast<unsigned long long>(sum));
}
