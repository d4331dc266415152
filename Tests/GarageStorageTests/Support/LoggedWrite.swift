import Foundation
import WriteLog

/// A record of the log that `WriteLog` makes of another process.
struct LoggedWrite {
  let operation: write_log_operation
  /// The file's inode number.
  let file: UInt64
  let path: String

  var makesName: Bool { operation == WRITE_LOG_CREATE || operation == WRITE_LOG_MAKE_DIRECTORY }
  var isSynchronization: Bool { operation == WRITE_LOG_SYNC }

  static func read(_ url: URL) throws -> [LoggedWrite] {
    let log = [UInt8](try Data(contentsOf: url))
    var records: [LoggedWrite] = []
    var position = 0
    while position + 64 <= log.count {
      func word(_ index: Int) -> UInt64 {
        log[(position + 8 * index)..<(position + 8 * index + 8)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      }
      let texts = position + 64
      records.append(
        LoggedWrite(
          operation: write_log_operation(rawValue: UInt32(word(0))), file: word(1),
          path: String(decoding: log[texts..<texts + Int(word(5))], as: UTF8.self)))
      position = texts + Int(word(5)) + Int(word(6))
    }
    return records
  }
}
