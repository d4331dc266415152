import LMDBCaching

/// Opens the cache and prints a line with key and value's number for each entry, then `end`.
enum KillDumpRole: TrialRole {
  static let name = "kill-dump"

  static func run(_ arguments: [String]) throws {
    let cache = try KillLoad(arguments[0]).open()
    let contents = try KillContents(cache)
    for (key, value) in contents.values.sorted(by: { $0.key < $1.key }) {
      answer("\(key) \(value.writer) \(value.number)")
    }
    for fault in contents.faults { answer("fault \(fault)") }
    answer("end")
    try cache.close()
  }
}
