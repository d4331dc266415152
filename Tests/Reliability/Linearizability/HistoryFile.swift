import Foundation

/// One process's records as raw memory: the same program reads and writes them.
enum HistoryFile {
  static func write(_ parts: [HistoryBuffer], to path: String) throws {
    var data = Data()
    for part in parts { data.append(contentsOf: part.bytes) }
    try data.write(to: URL(fileURLWithPath: path))
  }

  static func read(_ path: String) throws -> [HistoryRecord] {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return data.withUnsafeBytes { bytes in
      (0..<bytes.count / MemoryLayout<HistoryRecord>.stride).map {
        bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<HistoryRecord>.stride, as: HistoryRecord.self)
      }
    }
  }
}
