import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The values that are too long for the database: a file each.
///
///     offset  bytes
///          0      8  "LMDBCVF1"
///          8      4  length of the key
///         12      4  0
///         16      …  the key, then the value
///
/// The key is there so that a file without a record can be told from one with: see ``DiskStore/sweepValueFiles()``.
struct ValueFiles: Sendable {
  static let folder = "values"
  static let temporarySuffix = ".tmp"
  private static let magic: UInt64 = 0x3146_5643_4244_4D4C
  private static let headerSize = 16

  let directory: String

  init(cacheDirectory: String) { directory = cacheDirectory + "/" + Self.folder }

  private func path(_ name: String) -> String { directory + "/" + name }

  /// Writes a new file; it is complete, and synchronized if asked, before it gets its name.
  func write(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, synchronized: Bool
  ) throws(SystemError) -> ValueFileReference {
    let reference = ValueFileReference(valueHash: RecordHeader.payloadHash(value), length: value.count)
    let temporary = path(reference.name + Self.temporarySuffix)
    try Directory.create(directory, synchronized: synchronized)
    do throws(SystemError) {
      let file = try File(temporary, flags: O_WRONLY | O_CREAT | O_EXCL)
      var header = [UInt8](repeating: 0, count: Self.headerSize)
      header.withUnsafeMutableBytes {
        $0.storeBytes(of: Self.magic.littleEndian, as: UInt64.self)
        $0.storeBytes(of: UInt32(key.count).littleEndian, toByteOffset: 8, as: UInt32.self)
      }
      header += Array(key)
      try file.write(header)
      try file.write(value)
      if synchronized { try file.synchronize() }
      try Directory.move(temporary, to: path(reference.name))
    } catch {
      // The disk is full, say. What cannot be removed now is swept later.
      unlink(temporary)
      throw error
    }
    if synchronized { try Directory.synchronize(directory) }
    return reference
  }

  /// The value of a file; nil when there is no such file, or one that is not what was written.
  func read(_ reference: ValueFileReference, keyLength: Int) throws(SystemError) -> ValueFileContents {
    let file: File
    do throws(SystemError) {
      file = try File(path(reference.name), flags: O_RDONLY)
    } catch {
      if error.errno == ENOENT { return .missing }
      throw error
    }
    let offset = Self.headerSize + keyLength
    guard Int(try file.status().st_size) == offset.addingSaturating(reference.length), reference.length >= 0
    else { return .damaged }
    guard let memory = malloc(max(1, reference.length)) else {
      throw SystemError("malloc", file.path, errno: ENOMEM)
    }
    let bytes = UnsafeMutableRawBufferPointer(start: memory, count: reference.length)
    let data = Data(bytesNoCopy: memory, count: reference.length, deallocator: .free)
    guard try file.read(bytes, at: offset) else { return .damaged }
    guard RecordHeader.payloadHash(UnsafeRawBufferPointer(bytes)) == reference.valueHash else { return .damaged }
    return .value(data)
  }

  func remove(_ reference: ValueFileReference) throws(SystemError) {
    try Directory.removeFile(path(reference.name))
  }

  /// The files that were last changed before `date` (seconds since 1970), with the keys they were written for;
  /// a key is nil where the file is none of a finished write.
  func files(olderThan date: Int) throws(SystemError) -> [(name: String, key: [UInt8]?)] {
    var found: [(name: String, key: [UInt8]?)] = []
    for name in try Directory.names(in: directory) {
      let file: File
      do throws(SystemError) {
        file = try File(path(name), flags: O_RDONLY)
      } catch {
        if error.errno == ENOENT { continue }
        throw error
      }
      #if os(Linux)
        let changed = Int(try file.status().st_mtim.tv_sec)
      #else
        let changed = Int(try file.status().st_mtimespec.tv_sec)
      #endif
      if changed >= date { continue }
      found.append((name, name.hasSuffix(Self.temporarySuffix) ? nil : try key(in: file)))
    }
    return found
  }

  func remove(name: String) throws(SystemError) { try Directory.removeFile(path(name)) }

  private func key(in file: borrowing File) throws(SystemError) -> [UInt8]? {
    var length: UInt32?
    let size = Int(try file.status().st_size)
    var header = [UInt8](repeating: 0, count: Self.headerSize)
    guard try file.read(&header) else { return nil }
    header.withUnsafeBytes {
      if UInt64(littleEndian: $0.load(as: UInt64.self)) == Self.magic {
        length = UInt32(littleEndian: $0.load(fromByteOffset: 8, as: UInt32.self))
      }
    }
    guard let length, Int(length) <= size - Self.headerSize else { return nil }
    var key = [UInt8](repeating: 0, count: Int(length))
    return try file.read(&key, at: Self.headerSize) ? key : nil
  }
}

/// What reading a value's file brought.
enum ValueFileContents {
  case value(Data)
  /// There is no such file: the entry was replaced meanwhile, or somebody removed the file.
  case missing
  /// The file is not what was written.
  case damaged
}
