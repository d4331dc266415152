import CReference
import Foundation

/// A file for each key in one directory, replaced by a rename and never synchronized.
final class FilePerKey: DiskSubject {
  private let directory: Int32
  private let buffer: UnsafeMutableRawBufferPointer

  init(_ url: URL, _ valueSize: Int) throws {
    directory = try check(open(url.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    buffer = .allocate(byteCount: valueSize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  func set(_ keys: KeyList, _ value: Data) throws {
    try value.withUnsafeBytes { value in
      for key in keys.raw {
        let file = try check(openat(directory, "writing", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600))
        let written = write(file, value.baseAddress, value.count)
        _ = Foundation.close(file)
        guard written == value.count else { throw failure() }
        _ = try check(renameat(directory, "writing", directory, key.text))
      }
    }
  }

  /// Files do not support batches.
  func set(_ keys: KeyList, _ value: Data, inBatchesOf size: Int) throws { try set(keys, value) }

  func get(_ keys: KeyList) throws {
    for key in keys.raw {
      let file = try check(openat(directory, key.text, O_RDONLY | O_CLOEXEC))
      let count = read(file, buffer.baseAddress, buffer.count)
      _ = Foundation.close(file)
      guard count == buffer.count else { throw failure() }
    }
  }

  func getMissing(_ keys: KeyList) throws {
    for key in keys.raw {
      guard openat(directory, key.text, O_RDONLY | O_CLOEXEC) < 0, errno == ENOENT else { throw failure() }
    }
  }

  func value(_ keys: KeyList, at place: Int) throws -> Data? {
    let file = openat(directory, keys.raw[place].text, O_RDONLY | O_CLOEXEC)
    if file < 0, errno == ENOENT { return nil }
    return try FileHandle(fileDescriptor: check(file), closeOnDealloc: true).readToEnd() ?? Data()
  }

  func remove(_ keys: KeyList) throws {
    for key in keys.raw { _ = try check(unlinkat(directory, key.text, 0)) }
  }

  func settle() {}

  func close() throws { _ = try check(Foundation.close(directory)) }
}

private func check(_ status: Int32) throws -> Int32 {
  guard status >= 0 else { throw failure() }
  return status
}

private func failure() -> WorkloadError { WorkloadError("A file: \(String(cString: strerror(errno)))") }
