import Foundation
import WriteLog

/// One record of a log of writes; see `WriteLog.h`.
struct WriteLogRecord {
  let operation: write_log_operation
  /// The file's inode number.
  let file: UInt64
  let offset: Int
  let length: Int
  /// Whether the bytes were durable when the write returned.
  let isSynchronous: Bool
  let path: String
  let bytes: [UInt8]

  var newPath: String { String(decoding: bytes, as: UTF8.self) }

  static func read(_ path: String) throws -> [WriteLogRecord] {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return data.withUnsafeBytes { log in
      var records: [WriteLogRecord] = []
      var position = 0
      // A killed writer may have left a partial last record.
      while position + 64 <= log.count {
        func word(_ index: Int) -> UInt64 {
          UInt64(littleEndian: log.loadUnaligned(fromByteOffset: position + 8 * index, as: UInt64.self))
        }
        let (first, second) = (Int(word(5)), Int(word(6)))
        let texts = position + 64
        guard texts + first + second <= log.count else { break }
        records.append(
          WriteLogRecord(
            operation: write_log_operation(rawValue: UInt32(word(0))), file: word(1), offset: Int(word(2)),
            length: Int(word(3)), isSynchronous: word(4) == 1,
            path: String(decoding: log[texts..<texts + first], as: UTF8.self),
            bytes: Array(log[texts + first..<texts + first + second])))
        position = texts + first + second
      }
      return records
    }
  }
}

extension WriteLogRecord {
  /// Whether it orders other records: a synchronization, a name change, a hole.
  var isEdge: Bool {
    [
      WRITE_LOG_SYNC, WRITE_LOG_RENAME, WRITE_LOG_UNLINK, WRITE_LOG_LINK, WRITE_LOG_CREATE, WRITE_LOG_HOLE,
    ].contains(operation) || isSynchronous
  }

  /// Whether it removed a segment of the value log.
  var isRemovalOfValues: Bool { operation == WRITE_LOG_UNLINK && path.hasSuffix(".values") }
}
