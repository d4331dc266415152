import Foundation
import Platform

@testable import LMDBCaching

extension CacheDirectory {
  func isMarkedSound() throws -> Bool {
    let directory = try Directory(path: path)
    guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return false }
    return try mark.holds(in: directory)
  }

  func damage(_ change: (inout Data) -> Void) {
    var data = contents("data.mdb")
    change(&data)
    write(data, to: "data.mdb")
  }

  /// Changes a count that LMDB maintains but never checks: only a full verification detects it.
  func miscount() {
    damage { data in
      let newest = data.withUnsafeBytes {
        $0.loadUnaligned(fromByteOffset: 144, as: UInt64.self)
          < $0.loadUnaligned(fromByteOffset: 4096 + 144, as: UInt64.self) ? 4096 : 0
      }
      data[newest + 104] ^= 1
    }
  }
}
