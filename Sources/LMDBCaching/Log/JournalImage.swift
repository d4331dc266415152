import Platform

/// The frames of a journal's file, copied into memory: for recovery, which holds the journal's lock, and for
/// inspection, which must not take it, because the lock shows that the owner lives.
///
/// The owner may be writing. Each frame is present completely, as is its batch, or not present: not yet written, or
/// already committed. So reading the journal before the database misses no acknowledged write.
///
/// Memory: the bytes of the frames, and 64 KiB for each segment.
final class JournalImage {
  typealias Read = (MutableByteView, _ offset: Int) throws(SystemError) -> Int

  /// The frames of one segment.
  struct Run {
    /// The stamp of the frame written before this run's first; 0 for a journal's first run.
    let previous: UInt64
    let frames: [JournalFrame]
  }

  private static let window = 64 << 10

  /// 0 without a valid header.
  let identifier: UInt64
  let identity: FileIdentity
  /// Whether the journal was created in this boot, and so lost nothing to a power cut.
  let isOfThisRun: Bool
  /// Whether the header is damaged, or the device could not read all of the frames.
  private(set) var isDamaged: Bool
  /// Oldest first.
  private(set) var runs: [Run] = []
  private let owned: OwnedBytes
  private let contents: MutableByteView

  /// Returns `nil` for another kind of file.
  static func read(_ file: borrowing File) throws(SystemError) -> JournalImage? {
    let status = try file.status()
    return try read(size: status.size, identity: status.identity) { (bytes, offset) throws(SystemError) in
      try unsafe file.readPart(bytes.buffer, at: offset)
    }
  }

  /// The same for a file's contents.
  static func read(_ contents: ByteView) -> JournalImage? {
    let image = outcome { () throws(SystemError) in
      try read(size: contents.count, identity: FileIdentity(device: 0, inode: 0)) { bytes, offset in
        let part = contents[offset..<min(contents.count, offset + bytes.count)]
        bytes.copy(part)
        return part.count
      }
    }
    return if case .success(let image) = image { image } else { nil }
  }

  /// - Parameter read: Fills the bytes from an offset; returns how many there are.
  private static func read(size: Int, identity: FileIdentity, read: Read) throws(SystemError) -> JournalImage? {
    // Larger than any valid journal: only its beginning counts.
    let isTooLarge = size > JournalFile.maximumSize
    let capacity = isTooLarge ? JournalFile.headerSize : size
    let owned = try OwnedBytes(zeros: max(capacity, JournalFile.headerSize), for: JournalName.folder)
    let contents = owned.memory[..<capacity]
    var isDamaged = false
    var filled = 0
    _ = try fill(
      contents, &filled, upTo: min(capacity, JournalFile.fieldsSize), limit: min(capacity, JournalFile.headerSize),
      &isDamaged, read)
    // A dead owner may leave an empty file, and a power cut one of zeros. An unreadable header counts as such.
    let beginning = Array(ByteView(contents).prefix(8))
    guard JournalFile.isOurs(beginning) || beginning.allSatisfy({ $0 == 0 }) else { return nil }
    let image = JournalImage(owned, contents, isTooLarge: isTooLarge, identity, isDamaged: isDamaged)
    try image.readRuns(read)
    return image
  }

  private init(
    _ owned: consuming OwnedBytes, _ contents: MutableByteView, isTooLarge: Bool, _ identity: FileIdentity,
    isDamaged: Bool
  ) {
    self.owned = owned
    self.contents = contents
    self.identity = identity
    let header = ByteView(contents)
    isOfThisRun = JournalFile.boot(header).isKnownToBe(.current)
    guard !isTooLarge, header.count >= JournalFile.headerSize else {
      (identifier, self.isDamaged) = (0, isDamaged)
      return
    }
    let layout = JournalFile.layout(header, size: header.count)
    identifier = layout?.identifier ?? 0
    // The header is written after the file has its blocks.
    self.isDamaged = isDamaged || layout == nil && header[8..<40].contains { $0 != 0 }
  }

  // MARK: Reading

  private func readRuns(_ read: Read) throws(SystemError) {
    guard contents.count > JournalFile.headerSize,
      let layout = JournalFile.layout(ByteView(contents), size: contents.count)
    else { return }
    for index in 0..<layout.segmentCount {
      let start = layout.start(ofSegment: index)
      if let run = try run(start..<start + layout.segmentSize, read) { runs.append(run) }
    }
    runs.sort { $0.frames[0].stamp < $1.frames[0].stamp }
  }

  /// A segment's frames, up to the first torn or outdated one; `nil` if there are none.
  ///
  /// Preallocated blocks read as zeros, and no generation is ever 0.
  private func run(_ segment: Range<Int>, _ read: Read) throws(SystemError) -> Run? {
    var filled = segment.lowerBound
    func isThere(_ end: Int) throws(SystemError) -> Bool {
      try Self.fill(contents, &filled, upTo: end, limit: segment.upperBound, &isDamaged, read)
    }
    let bytes = ByteView(contents)
    var offset = segment.lowerBound + JournalSegment.headerSize
    guard try isThere(offset) else { return nil }
    let (generation, previous) = JournalSegment.header(bytes[segment])
    let seed = JournalSegment.frameSeed(identifier, generation: generation)
    var frames: [JournalFrame] = []
    var wholeBatches = 0
    while try isThere(offset + JournalFrame.headerSize) {
      let lengths = JournalFrame(at: bytes[offset...])
      let size = JournalFrame.size(keyLength: lengths.keyLength, recordLength: lengths.recordLength)
      guard try isThere(offset + size),
        let frame = JournalFrame(validating: bytes[offset..<offset + size], seed: seed)
      else { break }
      frames.append(frame)
      offset += frame.paddedLength
      if !frame.flags.contains(.batchContinues) { wholeBatches = frames.count }
    }
    // An incomplete batch never happened.
    frames.removeSubrange(wholeBatches...)
    return frames.isEmpty ? nil : Run(previous: previous, frames: frames)
  }

  /// Copies the file up to `end`, and some more; returns `false` if it, or `limit`, ends before.
  ///
  /// An unreadable block is zeros, because it would otherwise keep the cache from ever opening. The frames after it are
  /// lost, as after a power cut.
  private static func fill(
    _ contents: MutableByteView, _ filled: inout Int, upTo end: Int, limit: Int, _ isDamaged: inout Bool, _ read: Read
  ) throws(SystemError) -> Bool {
    guard end <= limit else { return false }
    while filled < end {
      let part = filled..<min(limit, max(end, filled + window))
      let bytes = contents[part]
      if let count = try ifReadable({ () throws(SystemError) in try read(bytes, part.lowerBound) }) {
        filled += count
        return filled >= end
      }
      for start in stride(from: part.lowerBound, to: part.upperBound, by: 4096) {
        let block = contents[start..<min(start + 4096, part.upperBound)]
        switch try ifReadable({ () throws(SystemError) in try read(block, start) }) {
        case .some(block.count): break
        case .some: return false
        case nil:
          block.clear()
          isDamaged = true
        }
      }
      filled = part.upperBound
    }
    return true
  }

  // MARK: Contents

  /// All frames, oldest first, valid for this object's lifetime.
  var frames: [JournalFrame] { runs.flatMap(\.frames) }

  /// A frame's place in the file.
  func range(of frame: JournalFrame) -> Range<Int> {
    let start = frame.bytes.offset(in: ByteView(contents))
    return start..<start + frame.length
  }

  var lastStamp: UInt64? { runs.last?.frames.last?.stamp }

  /// The stamp of the last frame before these; `nil` if there are none.
  var previousStamp: UInt64? { runs.first?.previous }

  /// The frames after `watermark`, oldest first, up to the first gap.
  ///
  /// A process crash leaves no gap. Power cuts, which persist pages in any order, and damage do: writes after a lost
  /// one must not survive it.
  func frames(after watermark: UInt64) -> [JournalFrame] {
    var last = watermark
    var found: [JournalFrame] = []
    for run in runs {
      guard run.previous <= last else { break }
      found += run.frames.filter { $0.stamp > watermark }
      last = max(last, run.frames.last!.stamp)
    }
    return found
  }
}

/// A dead process's journal, locked by this process.
struct OrphanedJournal: ~Copyable {
  let name: String
  let image: JournalImage
  private let folder: Directory
  private let lock: FileLock

  /// Returns `nil` if the journal is in use, gone, or another kind of file.
  init?(in folder: Directory, name: String) throws(SystemError) {
    guard let file = try folder.open(name, .writing, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder),
      let image = try JournalImage.read(lock.file)
    else { return nil }
    self.name = name
    self.image = image
    self.folder = folder
    self.lock = lock
  }

  /// Removes the file after its frames are in the database. A damaged one is kept under another name.
  consuming func remove() throws(SystemError) {
    if image.isDamaged {
      try folder.rename(name, to: JournalFolder.damagedName)
    } else {
      try folder.remove(name)
    }
  }
}
