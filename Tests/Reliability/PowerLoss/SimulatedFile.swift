import TestSupport

/// A file of a simulated disk: its durable bytes, and changes that a power cut may keep or lose.
final class SimulatedFile {
  private enum Change {
    case write(offset: Int, [UInt8], isSynchronous: Bool)
    case resize(Int)
    case extend(Int)
    /// Zeros, as far as the file goes.
    case hole(Range<Int>)
  }

  static let pageSize = 4096
  static let sectorSize = 512

  private var durable: [UInt8]
  private var pending: [Change] = []

  init(_ contents: [UInt8] = []) { durable = contents }

  func write(_ bytes: [UInt8], at offset: Int, isSynchronous: Bool = false) {
    pending.append(.write(offset: offset, bytes, isSynchronous: isSynchronous))
  }

  func resize(to size: Int) { pending.append(.resize(size)) }
  func extend(to size: Int) { pending.append(.extend(size)) }
  func punchHole(_ range: Range<Int>) { pending.append(.hole(range)) }

  func synchronize() {
    for change in pending { Self.apply(change, to: &durable) }
    pending = []
  }

  /// The bytes after a power cut: every unsynchronized page has a prefix of its writes, independently of other pages;
  /// sometimes every sector does.
  ///
  /// - Parameter keeping: The probability that a change survives, in percent.
  func afterPowerCut(keeping percent: Int, _ random: inout SeededRandom) -> [UInt8] {
    if pending.isEmpty { return durable }
    var contents = durable
    let size = sizeAfterPowerCut(keeping: percent, &random)
    // A page on the disk holds all writes up to some moment, as the page cache does.
    var ends: [Int: [Int]] = [:]
    var forced: [Int: Int] = [:]
    for (index, change) in pending.enumerated() {
      for page in pages(of: change) {
        ends[page, default: []].append(index)
        if case .write(_, _, true) = change { forced[page] = ends[page]!.count }
      }
    }
    for page in ends.keys.sorted() {
      let changes = ends[page]!
      let least = forced[page] ?? 0
      let start = page * Self.pageSize
      if random.below(8) == 0 {
        for sector in 0..<Self.pageSize / Self.sectorSize {
          let kept = kept(of: changes.count, least, percent, &random)
          let from = start + sector * Self.sectorSize
          apply(changes.prefix(kept), to: &contents, within: from..<from + Self.sectorSize)
        }
      } else {
        let kept = kept(of: changes.count, least, percent, &random)
        apply(changes.prefix(kept), to: &contents, within: start..<start + Self.pageSize)
      }
    }
    if contents.count > size { contents.removeSubrange(size...) }
    if contents.count < size { contents += [UInt8](repeating: 0, count: size - contents.count) }
    return contents
  }

  private func kept(of count: Int, _ least: Int, _ percent: Int, _ random: inout SeededRandom) -> Int {
    if random.below(4) == 0 { return least + random.below(count - least + 1) }
    return random.below(100) < percent ? count : least
  }

  private func sizeAfterPowerCut(keeping percent: Int, _ random: inout SeededRandom) -> Int {
    var size = durable.count
    for change in pending {
      switch change {
      case .write(let offset, let bytes, let isSynchronous):
        if isSynchronous || random.below(100) < percent { size = max(size, offset + bytes.count) }
      case .resize(let new): if random.below(100) < percent { size = new }
      case .extend(let new): if random.below(100) < percent { size = max(size, new) }
      case .hole: break
      }
    }
    return size
  }

  private func pages(of change: Change) -> ClosedRange<Int> {
    switch change {
    case .write(let offset, let bytes, _):
      return offset / Self.pageSize...max(offset, offset + bytes.count - 1) / Self.pageSize
    case .resize(let size): return size / Self.pageSize...max(size, durable.count) / Self.pageSize
    case .extend(let size): return max(0, size - 1) / Self.pageSize...max(0, size - 1) / Self.pageSize
    case .hole(let range): return range.lowerBound / Self.pageSize...max(0, range.upperBound - 1) / Self.pageSize
    }
  }

  private func apply(_ changes: ArraySlice<Int>, to contents: inout [UInt8], within range: Range<Int>) {
    for index in changes {
      switch pending[index] {
      case .write(let offset, let bytes, _):
        let part = range.clamped(to: offset..<offset + bytes.count)
        if part.isEmpty { continue }
        if contents.count < part.upperBound {
          contents += [UInt8](repeating: 0, count: part.upperBound - contents.count)
        }
        Self.copy(bytes[part.lowerBound - offset..<part.upperBound - offset], to: &contents, at: part.lowerBound)
      case .resize(let size):
        for position in range.clamped(to: 0..<contents.count) where position >= size { contents[position] = 0 }
      case .extend: break
      case .hole(let hole):
        for position in range.clamped(to: hole).clamped(to: 0..<contents.count) { contents[position] = 0 }
      }
    }
  }

  private static func apply(_ change: Change, to contents: inout [UInt8]) {
    switch change {
    case .write(let offset, let bytes, _):
      let end = offset + bytes.count
      if contents.count < end { contents += [UInt8](repeating: 0, count: end - contents.count) }
      copy(bytes[...], to: &contents, at: offset)
    case .resize(let size):
      if contents.count > size { contents.removeSubrange(size...) }
      if contents.count < size { contents += [UInt8](repeating: 0, count: size - contents.count) }
    case .extend(let size):
      if contents.count < size { contents += [UInt8](repeating: 0, count: size - contents.count) }
    case .hole(let range):
      for position in range.clamped(to: 0..<contents.count) { contents[position] = 0 }
    }
  }

  private static func copy(_ bytes: ArraySlice<UInt8>, to contents: inout [UInt8], at offset: Int) {
    contents.withUnsafeMutableBytes { contents in
      bytes.withUnsafeBytes { contents[offset..<offset + bytes.count].copyBytes(from: $0) }
    }
  }
}
