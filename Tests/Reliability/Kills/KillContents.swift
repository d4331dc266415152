import LMDBCaching

struct KillContents {
  var values: [String: KillValue] = [:]
  var faults: [String] = []

  init(_ cache: LMDBCache) throws {
    let entries = try cache.entries()
    for entry in entries {
      // First from the disk, then from memory.
      for _ in 0..<2 {
        guard let text = try cache.value(String.self, forKey: entry.key) else {
          faults.append("\(entry.key) is listed and not there")
          continue
        }
        guard let value = KillValue(text, key: entry.key) else {
          faults.append("\(entry.key) has a value that nobody wrote: \(text.prefix(60))")
          continue
        }
        values[entry.key] = value
      }
    }
    if try cache.count != entries.count {
      faults.append("the try count is \(try cache.count), of \(entries.count) entries")
    }
    let cost = entries.reduce(0) { $0 + $1.cost }
    if try cache.totalCost != cost {
      faults.append("the total try cost is \(try cache.totalCost), the entries' is \(cost)")
    }
  }

  /// Adds the faults of the value log. No other process may have the cache open.
  mutating func checkValueLog(of cache: LMDBCache) throws {
    try cache.sweepValues()
    faults += try cache.valueLogFaults()
  }

  /// Parses a ``KillDumpRole``'s output; nil if it ended early.
  init?(_ line: () -> String?) {
    while let text = line() {
      if text == "end" { return }
      let words = text.split(separator: " ")
      if words[0] == "fault" || words.count != 3 {
        faults.append(text)
      } else {
        values[String(words[0])] = KillValue(writer: Int(words[1]) ?? -1, number: Int(words[2]) ?? -1)
      }
    }
    return nil
  }
}
