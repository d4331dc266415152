import LMDBCaching

/// Writes until it is killed, and acknowledges each write once it has returned.
enum KillWriterRole: TrialRole {
  static let name = "kill-writer"

  static func run(_ arguments: [String]) throws {
    let load = try KillLoad(arguments[0])
    // Opening replays the journals of dead processes, and may be killed at that.
    answer("opening")
    do {
      try write(load)
    } catch {
      answer("failed: \(error)")
    }
  }

  private static func write(_ load: KillLoad) throws {
    let cache = try load.open()
    var number = 0
    while true {
      try KillOperation(number: number, load).apply(to: cache, KillValue(writer: load.writer, number: number))
      answer(String(number))
      number += 1
    }
  }
}
