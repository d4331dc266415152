import Foundation
import Platform
import Synchronization

/// The values that are too long for the database: a file each.
///
///     offset  bytes
///          0      8  "LMDBCVF1"
///          8      4  length of the key
///         12      4  0
///         16      …  the key, then the value
///
/// The key is there so that a file without a record can be told from one with: see ``ValueFileKeeper``. The name begins
/// with the identifier of the journal that the file's record is written to: while that journal is there, the file belongs
/// to it. Files in the folder that are not named and do not begin so are left alone.
final class ValueFiles: Sendable {
  static let folderName = "values"
  static let temporarySuffix = ".tmp"
  private static let magic: UInt64 = 0x3146_5643_4244_4D4C
  private static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }
  private static let headerSize = 16

  private let current: CurrentDirectory
  /// The names of files whose record this process has not written yet.
  private let beingWritten = Mutex<Set<String>>([])

  init(_ current: CurrentDirectory) { self.current = current }

  convenience init(_ cache: Directory) { self.init(CurrentDirectory(cache)) }

  private var cache: Directory { current.value }

  /// Whether a file that begins so is one of these.
  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(Self.folderName) }

  // MARK: Writing

  /// Writes a new file; it is complete, and synchronized if asked, before it gets its name. It counts as being written
  /// until ``endWriting(_:)``.
  ///
  /// - Parameter owner: The journal that its record is written to.
  func write(
    _ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer, owner: UInt64, synchronized: Bool
  ) throws(SystemError) -> ValueFileReference {
    let reference = ValueFileReference(
      owner: owner, valueHash: RecordHeader.payloadHash(value), length: value.count)
    let name = reference.name
    let temporary = name + Self.temporarySuffix
    beingWritten.withLock { _ = $0.insert(name) }
    do throws(SystemError) {
      let folder = try cache.makeSubdirectory(Self.folderName, synchronized: synchronized)
      do throws(SystemError) {
        let file = try folder.create(temporary, .exclusively)
        var header = [UInt8](repeating: 0, count: Self.headerSize)
        header.withUnsafeMutableBytes {
          $0.storeBytes(of: Self.magic.littleEndian, as: UInt64.self)
          $0.storeBytes(of: UInt32(key.count).littleEndian, toByteOffset: 8, as: UInt32.self)
        }
        header += Array(key)
        try file.write(header)
        try file.write(value)
        if synchronized { try file.synchronize() }
        try folder.rename(temporary, to: name)
      } catch {
        // The disk is full, say. What cannot be removed now is swept later, and the first error is the one to tell.
        do throws(SystemError) { try folder.remove(temporary) } catch {}
        throw error
      }
      if synchronized { try folder.synchronize() }
    } catch {
      endWriting([reference])
      throw error
    }
    return reference
  }

  /// The records that refer to these files are in the journal, or will never be.
  func endWriting(_ references: [ValueFileReference]) {
    beingWritten.withLock { names in for reference in references { names.remove(reference.name) } }
  }

  func isBeingWritten(_ name: String) -> Bool { beingWritten.withLock { $0.contains(name) } }

  // MARK: Reading

  /// What a file holds.
  func read(_ reference: ValueFileReference, keyLength: Int) throws(SystemError) -> ValueFileContents {
    guard let file = try folder()?.open(reference.name) else { return .missing }
    let offset = Self.headerSize + keyLength
    guard reference.length >= 0, try file.status().size == offset.addingSaturating(reference.length) else {
      return .damaged
    }
    guard let memory = malloc(max(1, reference.length)) else {
      throw SystemError("malloc", file.path, errno: ENOMEM)
    }
    var isHandedOver = false
    defer { if !isHandedOver { free(memory) } }
    let bytes = UnsafeMutableRawBufferPointer(start: memory, count: reference.length)
    guard try file.read(bytes, at: offset) else { return .damaged }
    guard RecordHeader.payloadHash(UnsafeRawBufferPointer(bytes)) == reference.valueHash else { return .damaged }
    // Not before it is filled: of a few bytes `Data` makes a copy, and frees the memory at once.
    isHandedOver = true
    return .value(Data(bytesNoCopy: memory, count: reference.length, deallocator: .free))
  }

  // MARK: Removing

  func remove(_ reference: ValueFileReference) throws(SystemError) { try folder()?.remove(reference.name) }

  func remove(_ file: Found) throws(SystemError) { try folder()?.remove(file.name) }

  /// A file of this package in the folder.
  struct Found {
    let name: String
    /// The journal that its record was written to.
    let owner: UInt64
    /// The key it was written for, or `nil` if it was never finished.
    let key: [UInt8]?
  }

  /// Whether the process lives that wrote a file, or its writes are yet to be applied.
  func hasJournal(of owner: UInt64) throws(SystemError) -> Bool { try JournalFolder(cache: cache).contains(owner) }

  /// The files that were last changed before `date`, in seconds since 1970; all of them without one.
  func files(olderThan date: Int? = nil) throws(SystemError) -> [Found] {
    guard let folder = try folder() else { return [] }
    var found: [Found] = []
    for name in try folder.names() {
      let isTemporary = name.hasSuffix(Self.temporarySuffix)
      let base = isTemporary ? String(name.dropLast(Self.temporarySuffix.count)) : name
      guard let owner = ValueFileReference.owner(ofName: base), try folder.kind(of: name) == .regular,
        let file = try folder.open(name)
      else { continue }
      if let date, try file.status().modified / 1_000_000_000 >= date { continue }
      let size = try file.status().size
      var header = [UInt8](repeating: 0, count: min(Self.headerSize, size))
      guard try file.read(&header) else { continue }
      if header.count == Self.headerSize, header.starts(with: Self.magicBytes) {
        found.append(Found(name: name, owner: owner, key: isTemporary ? nil : try key(in: file, header, size)))
      } else if header.allSatisfy({ $0 == 0 }) || header.count < Self.headerSize && header.begins(with: Self.magicBytes)
      {
        // Its writer died, or the power was cut, before the beginning was on the disk.
        found.append(Found(name: name, owner: owner, key: nil))
      }
    }
    return found
  }

  private func key(in file: borrowing File, _ header: [UInt8], _ size: Int) throws(SystemError) -> [UInt8]? {
    let length = header.withUnsafeBytes { Int(UInt32(littleEndian: $0.load(fromByteOffset: 8, as: UInt32.self))) }
    guard length <= size - Self.headerSize else { return nil }
    var key = [UInt8](repeating: 0, count: length)
    return try file.read(&key, at: Self.headerSize) ? key : nil
  }

  /// Removes every file of this package. For a cache that is discarded.
  func removeAll() throws(SystemError) {
    guard let folder = try folder() else { return }
    for file in try files() { try folder.remove(file.name) }
    try folder.synchronize()
  }

  /// Moves the files to a folder of another directory, but for those that are named.
  func move(to destination: Directory, except kept: Set<String>) throws(SystemError) {
    guard let folder = try folder() else { return }
    let moved = try files().filter { !kept.contains($0.name) }
    if moved.isEmpty { return }
    let target = try destination.makeSubdirectory(Self.folderName)
    for file in moved { try folder.rename(file.name, to: target, as: file.name) }
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
