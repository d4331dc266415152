import CLMDBReference
import CReference
import Foundation

/// LMDB in C, with keys that are laid out beforehand.
final class Reference {
  enum Durability { case ordered, fast }

  private let handle: OpaquePointer

  init(_ directory: URL, durability: Durability) throws {
    let flags = durability == .fast ? MDB_NOSYNC : MDB_NOMETASYNC
    guard let handle = reference_open(directory.path, UInt32(flags)) else { throw CocoaError(.fileWriteUnknown) }
    self.handle = handle
  }

  deinit { reference_close(handle) }

  /// Nanoseconds per put.
  func put(_ keys: [String], _ value: Data, batch: Int) -> Double {
    withKeys(keys) { keys in
      value.withUnsafeBytes { value in
        let time = reference_put_batches(
          handle, keys.baseAddress, keys.count, batch, value.baseAddress, value.count)
        precondition(time >= 0, "LMDB: \(time)")
        return Double(time) / Double(keys.count)
      }
    }
  }

  /// Nanoseconds per get.
  func get(_ keys: [String]) -> Double {
    withKeys(keys) { keys in
      let time = reference_get_each(handle, keys.baseAddress, keys.count)
      precondition(time >= 0, "LMDB: \(time)")
      return Double(time) / Double(keys.count)
    }
  }

  /// Each key in memory of its own, as those of a program are.
  private func withKeys<R>(_ keys: [String], _ body: (UnsafeBufferPointer<reference_key>) -> R) -> R {
    let copies = keys.map { key -> reference_key in
      let bytes = Array(key.utf8)
      let copy = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 8)
      copy.copyMemory(from: bytes, byteCount: bytes.count)
      return reference_key(bytes: copy, count: bytes.count)
    }
    defer { for copy in copies { copy.bytes.deallocate() } }
    return copies.withUnsafeBufferPointer(body)
  }
}
