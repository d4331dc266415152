import CReference
import Foundation

/// LMDB called from C with prepared keys: the lower bound.
final class RawLMDB: DiskSubject {
  enum Synchronization { case noSync, noMetaSync }

  // Freed by `close`.
  private var handle: OpaquePointer?

  init(_ directory: URL, _ valueSize: Int, _ synchronization: Synchronization) throws {
    let flags = synchronization == .noSync ? reference_no_sync : reference_no_meta_sync
    try check(reference_open(directory.path, flags, valueSize, &handle))
  }

  deinit { close() }

  func set(_ keys: KeyList, _ value: Data) throws { try set(keys, value, inBatchesOf: 1) }

  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws {
    try value.withUnsafeBytes { value in
      try check(reference_put(handle, keys.raw.baseAddress, keys.count, size, value.baseAddress, value.count))
    }
  }

  func get(_ keys: KeyList) throws { try check(reference_get(handle, keys.raw.baseAddress, keys.count)) }

  func getMissing(_ keys: KeyList) throws {
    try check(reference_get_missing(handle, keys.raw.baseAddress, keys.count))
  }

  /// Calls `body` with a key's value, in a buffer that the next read overwrites.
  func withValue<R>(_ key: UnsafePointer<reference_key>, _ body: (Data) throws -> R) throws -> R {
    try check(reference_get(handle, key, 1))
    var size = 0
    let bytes = UnsafeMutableRawPointer(mutating: reference_last_value(handle, &size))
    guard let bytes else { throw WorkloadError("LMDB has no buffer.") }
    return try body(Data(bytesNoCopy: bytes, count: size, deallocator: .none))
  }

  func value(_ keys: KeyList, at place: Int) throws -> Data? {
    let status = reference_get(handle, keys.raw.baseAddress! + place, 1)
    if status == reference_not_found { return nil }
    try check(status)
    var size = 0
    let bytes = reference_last_value(handle, &size)
    return bytes.map { Data(bytes: $0, count: size) }
  }

  func remove(_ keys: KeyList) throws { try check(reference_remove(handle, keys.raw.baseAddress, keys.count)) }

  func settle() {}

  func close() {
    reference_close(handle)
    handle = nil
  }
}

private func check(_ status: Int32) throws {
  guard status == 0 else { throw WorkloadError("LMDB: status \(status)") }
}
