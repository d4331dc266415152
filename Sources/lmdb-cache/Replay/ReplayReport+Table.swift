extension ReplayReport {
  var table: String {
    var counts = TextTable([.left, .right])
    counts.append(["requests", Formatting.grouped(requests)])
    counts.append(["memory hits", Formatting.grouped(memoryHits)])
    counts.append(["disk hits", Formatting.grouped(diskHits)])
    counts.append(["misses", Formatting.grouped(misses)])
    counts.append(["hit ratio", Formatting.decimal(hitRatio * 100, places: 2) + " %"])
    counts.append(["memory evictions", Formatting.grouped(memoryEvictions)])
    counts.append(["disk evictions", Formatting.grouped(diskEvictions)])
    counts.append(["wrong values", Formatting.grouped(wrongValues)])
    counts.append(["threads", Formatting.grouped(threads)])
    counts.append(["seconds", Formatting.decimal(seconds, places: 3)])
    counts.append(["requests/s", Formatting.grouped(Int(requestsPerSecond.rounded()))])
    counts.append(["bytes on disk", Formatting.grouped(bytesOnDisk)])

    var times = TextTable([.left, .right, .right, .right, .right])
    times.append(["nanoseconds", "requests", "p50", "p99", "p99.9"])
    if requests > 0 {
      times.append([
        "all", Formatting.grouped(requests), Formatting.grouped(p50Nanoseconds), Formatting.grouped(p99Nanoseconds),
        Formatting.grouped(p999Nanoseconds),
      ])
    }
    if threads == 1 {
      Self.append("memory hit", memoryHitTimes, to: &times)
      Self.append("disk hit", diskHitTimes, to: &times)
    } else {
      Self.append("hit", hitTimes, to: &times)
    }
    Self.append("miss and store", missTimes, to: &times)
    let clock = "Of each time, about \(clockNanoseconds) ns are the clock's (twice that of a miss and store).\n"
    return counts.text + "\n" + times.text + clock
  }

  private static func append(_ name: String, _ quantiles: Quantiles?, to table: inout TextTable) {
    guard let quantiles else { return }
    table.append([
      name, Formatting.grouped(quantiles.requests), Formatting.grouped(quantiles.p50Nanoseconds),
      Formatting.grouped(quantiles.p99Nanoseconds), Formatting.grouped(quantiles.p999Nanoseconds),
    ])
  }
}
