import LMDB

#if canImport(Glibc)
  import Glibc

  // Another process for LMDB's tests, with the environment in the directory of its first argument: reads commands from
  // its standard input, one a line, and answers each with one line.

  var options = Environment.Options()
  options.mapSize = 64 << 20
  options.syncMode = .noSync
  options.waits.otherProcesses = 50_000_000
  options.waits.read = 200_000_000
  options.keptReaders = 4

  func answer(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = write(STDOUT_FILENO, line, line.count)
  }

  func withBytes<R>(
    _ byte: UInt8, _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
    defer { copy.deallocate() }
    copy[0] = byte
    return try body(UnsafeRawBufferPointer(copy))
  }

  /// Writes one byte as the value of the key 1.
  func commit(_ value: UInt8, _ environment: Environment) throws(LMDBError) {
    let transaction = try environment.beginWrite()
    try withBytes(1) { (key) throws(LMDBError) in
      try withBytes(value) { (value) throws(LMDBError) in try transaction.put(value, forKey: key) }
    }
    try transaction.commit()
  }

  /// Runs `body` within so many snapshots.
  func nest(_ count: Int, _ environment: Environment, _ body: () -> Void) throws(LMDBError) {
    if count == 0 { return body() }
    try environment.withReadTransaction { _ throws(LMDBError) in try nest(count - 1, environment, body) }
  }

  func run(_ words: [Substring], _ environment: Environment) throws(LMDBError) -> String {
    switch words[0] {
    case "get":
      let value = try environment.withReadTransaction { (transaction) throws(LMDBError) in
        try withBytes(1) { (key) throws(LMDBError) in try transaction.withValue(forKey: key) { $0[0] } }
      }
      return value.map { String($0) } ?? "nil"
    case "put": try commit(UInt8(words[1])!, environment)
    case "snapshots":
      // So many at once, which then end.
      try nest(Int(words[1])!, environment) {}
    case "hold":
      // The same, until there is another line.
      try nest(Int(words[1])!, environment) {
        answer("holding")
        _ = readLine()
      }
    case "greedy":
      // Writes again and again, with next to nothing in between.
      answer("ok")
      while true { try commit(UInt8(words[1])!, environment) }
    default: return "unknown command"
    }
    return "ok"
  }

  var opened: Environment?
  while let line = readLine() {
    do throws(LMDBError) {
      let environment =
        if let opened { opened } else { try Environment.open(directory: CommandLine.arguments[1], options: options) }
      opened = environment
      answer(try run(line.split(separator: " "), environment))
    } catch {
      answer("error \(error.code)")
    }
  }
#endif
