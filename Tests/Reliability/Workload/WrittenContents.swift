import LMDBCaching

/// A cache's contents after the writes of a ``WriterLoad``, and their faults.
struct WrittenContents {
  var values: [String: WrittenValue] = [:]
  var faults: [String] = []

  init(_ cache: LMDBCache) throws {
    let entries = try cache.entries()
    for entry in entries {
      if try !cache.contains(entry.key) { faults.append("\(entry.key) is listed and not contained") }
      // First from the disk, then from memory.
      for _ in 0..<2 {
        let isSum = entry.key.hasPrefix(WriterOperation.sumPrefix)
        let sum = isSum ? try cache.value(Int.self, forKey: entry.key) : nil
        let text = !isSum ? try cache.value(String.self, forKey: entry.key) : nil
        let value = sum.map { WrittenValue(number: $0) } ?? text.flatMap { WrittenValue($0, key: entry.key) }
        values[entry.key] = value
        if value == nil { faults.append("\(entry.key) is listed, and its value is \(text?.prefix(60) ?? "nothing")") }
      }
    }
    let count = try cache.count
    if count != entries.count { faults.append("the count is \(count), of \(entries.count) entries") }
    let (cost, total) = (entries.reduce(0) { $0 + $1.cost }, try cache.totalCost)
    if total != cost { faults.append("the total cost is \(total), the entries' is \(cost)") }
  }

  /// Adds the faults of the value log. No other process may have the cache open.
  mutating func checkValueLog(of cache: LMDBCache) throws {
    try cache.sweepValues()
    faults += try cache.valueLogFaults()
  }

  /// Its text for another process: a line with key and value for each entry, and one for each fault.
  var lines: [String] {
    values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.writer) \($0.value.number)" }
      + faults.map { "fault \($0)" }
  }

  /// Reads lines up to `end`; nil if they end early. Lines of another form are faults.
  init?(_ line: () -> String?) {
    while let text = line() {
      if text == "end" { return }
      let words = text.split(separator: " ")
      if words[0] == "fault" || words.count != 3 {
        faults.append(text)
      } else {
        values[String(words[0])] = WrittenValue(writer: Int(words[1]) ?? -1, number: Int(words[2]) ?? -1)
      }
    }
    return nil
  }
}
