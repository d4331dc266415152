import CXXHash
import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// This process's journal: a preallocated, locked file with several segments, mapped into memory. While some are
/// being committed, writes go on in another.
///
/// What is stored through the map survives the death of the process without a system call, and since the
/// blocks are reserved, a full disk cannot turn a store into SIGBUS. The lock goes with the process; a
/// journal without a lock belongs to nobody and is replayed.
struct JournalFile: ~Copyable {
  static let folder = "journals"
  static let suffix = ".journal"
  static let headerSize = 4096
  private static let magic: UInt64 = 0x314E_4A43_4244_4D4C  // "LMDBCJN1"

  let identifier: UInt64
  private let file: File
  let map: JournalMap
  let identity: FileIdentity
  private let segmentSize: Int

  static func path(in directory: String, identifier: UInt64) -> String {
    let digits = String(identifier, radix: 16)
    return directory + "/" + folder + "/" + String(repeating: "0", count: 16 - digits.count) + digits + suffix
  }

  static let segmentCount = 4

  /// Makes a new journal whose segments have `size` bytes together.
  init(directory: String, size: Int) throws(SystemError) {
    try Directory.create(directory + "/" + Self.folder)
    let segmentSize = size / Self.segmentCount & ~4095
    let total = Self.headerSize + Self.segmentCount * segmentSize
    let identifier = UInt64.random(in: .min ... .max)
    let file = try Self.makeLockedFile(Self.path(in: directory, identifier: identifier))
    let journal = try Self.map(file, total)
    let identity = try file.identity()
    map = journal
    self.identity = identity
    self.file = file
    self.identifier = identifier
    self.segmentSize = segmentSize
    Self.writeHeader(to: journal.base, identifier: identifier, segmentSize: segmentSize, count: Self.segmentCount)
  }

  static func writeHeader(to base: UnsafeMutableRawPointer, identifier: UInt64, segmentSize: Int, count: Int) {
    base.storeBytes(of: magic, as: UInt64.self)
    base.storeBytes(of: identifier, toByteOffset: 8, as: UInt64.self)
    base.storeBytes(of: UInt64(segmentSize), toByteOffset: 16, as: UInt64.self)
    base.storeBytes(of: UInt64(count), toByteOffset: 24, as: UInt64.self)
    base.storeBytes(of: cxxhash_64(base, 32, 0), toByteOffset: 32, as: UInt64.self)
  }

  private static func makeLockedFile(_ path: String) throws(SystemError) -> File {
    while true {
      let file = try File(path, flags: O_RDWR | O_CREAT | O_EXCL)
      // Another process may have taken the new file for a dead one's before it was locked, and removed it.
      if try file.tryLock(), try file.isStillAtItsPath() { return file }
    }
  }

  private static func map(_ file: borrowing File, _ size: Int) throws(SystemError) -> JournalMap {
    do throws(SystemError) {
      try file.preallocate(size)
      return try JournalMap(file, size: size)
    } catch {
      try Directory.removeFile(file.path)
      throw error
    }
  }

  var path: String { file.path }

  /// Where it is, and which file it is.
  var location: (path: String, identity: FileIdentity) { (file.path, identity) }

  func makeSegments() -> [JournalSegment] {
    (0..<Self.segmentCount).map {
      JournalSegment(
        in: map, at: Self.headerSize + $0 * segmentSize, capacity: segmentSize, seed: identifier)
    }
  }

  /// The blocks reserved by ``preallocate`` are read as zeros: no generation was ever 0.
  static func runs(
    in contents: UnsafeRawBufferPointer
  ) -> (identifier: UInt64, runs: [JournalRun])? {
    guard contents.count >= headerSize, contents.load(as: UInt64.self) == magic,
      contents.load(fromByteOffset: 32, as: UInt64.self) == cxxhash_64(contents.baseAddress!, 32, 0)
    else { return nil }
    let identifier = contents.load(fromByteOffset: 8, as: UInt64.self)
    let segmentSize = contents.load(fromByteOffset: 16, as: UInt64.self)
    let count = contents.load(fromByteOffset: 24, as: UInt64.self)
    guard count > 0, count <= 64, segmentSize <= UInt64(contents.count - headerSize) / count,
      segmentSize.isMultiple(of: 8)
    else { return nil }
    var runs: [JournalRun] = []
    for index in 0..<Int(count) {
      let start = headerSize + index * Int(segmentSize)
      let segment = UnsafeRawBufferPointer(rebasing: contents[start..<start + Int(segmentSize)])
      if let run = JournalSegment.run(in: segment, seed: identifier) { runs.append(run) }
    }
    return (identifier, runs.sorted { $0.frames[0].stamp < $1.frames[0].stamp })
  }
}
