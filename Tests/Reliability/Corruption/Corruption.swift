import Foundation
import TestSupport

/// A change of a database, of a segment of values or of a journal.
enum Corruption: String {
  case bits, header, bytes, zeros, truncation, exchangedPages
  /// A page of the database as it was earlier; or a leaf under its number, with every checksum in it valid.
  case earlierPage, lostWrite
  case garbageAtTheEnd, exchangedFiles, removal, foreignFile, foreignContents

  private static let ofBytes: [Corruption] = [.bits, .header, .bytes, .zeros, .truncation, .exchangedPages]
  static let ofDatabases = ofBytes + [.earlierPage, .lostWrite]
  /// Excludes another cache's intact journal, which would be replayed wherever it is.
  static let ofJournals = ofBytes + [.garbageAtTheEnd, .exchangedFiles, .removal]
  static let ofValues = ofJournals + [.foreignFile, .foreignContents]

  /// Changes a random page, with each kind of page equally likely.
  func apply(to bytes: inout [UInt8], of image: DatabaseImage, earlier: DatabaseImage, _ random: inout SeededRandom)
    -> (kind: DatabaseImage.PageKind, text: String)
  {
    let size = DatabaseImage.pageSize
    let kinds = DatabaseImage.PageKind.allCases.filter { $0 != .other && !image.pages[$0, default: []].isEmpty }
    let kind = kinds.randomElement(using: &random)!
    let page = image.pages[kind]!.randomElement(using: &random)!
    let start = page * size
    switch self {
    case .lostWrite:
      guard let (leaf, older) = image.rewrittenLeaves.randomElement(using: &random) else { return (kind, "nothing") }
      let range = leaf * size + 8..<(leaf + 1) * size
      bytes.replaceSubrange(range, with: image.bytes[older * size + 8..<(older + 1) * size])
      return (.leaf, "leaf page \(leaf) as page \(older) has it")
    case .earlierPage:
      let end = min(start + size, earlier.bytes.count)
      if start < end { bytes.replaceSubrange(start..<end, with: earlier.bytes[start..<end]) }
      return (kind, "\(kind) page \(page) as it was earlier")
    default:
      // Most of a meta page is unused.
      let part = start..<start + (kind == .meta ? 160 : size)
      return (kind, "\(change(&bytes, in: part, header: kind == .meta ? 160 : 32, &random)) of \(kind) page \(page)")
    }
  }

  /// - Parameters:
  ///   - files: A cache's files of one kind, by name.
  ///   - foreign: Those of another cache.
  func apply(
    to files: inout [String: [UInt8]], foreign: [String: [UInt8]], _ random: inout SeededRandom
  ) -> String {
    let names = files.keys.sorted()
    let name = names.randomElement(using: &random)!
    var bytes = files[name]!
    var text = "\(self) of \(name)"
    switch self {
    case .garbageAtTheEnd: bytes += random.bytes(1 + random.below(100_000))
    case .exchangedFiles:
      let other = names.randomElement(using: &random)!
      text += " and \(other)"
      let contents = bytes
      bytes = files[other]!
      files[other] = contents
    case .foreignFile:
      let (other, contents) = foreign.min { $0.key < $1.key }!
      files[other] = contents
    case .foreignContents: bytes = foreign.min { $0.key < $1.key }!.value
    case .removal:
      files[name] = nil
      return text
    default:
      // Mostly damage the used part of the file.
      let used = max(1, (bytes.lastIndex { $0 != 0 } ?? 0) + 1)
      text += ": \(change(&bytes, in: 0..<used, header: 200, &random))"
    }
    files[name] = bytes
    return text
  }

  /// - Parameters:
  ///   - part: Where to change.
  ///   - header: How many of its first bytes matter most.
  private func change(
    _ bytes: inout [UInt8], in part: Range<Int>, header: Int, _ random: inout SeededRandom
  ) -> String {
    let size = DatabaseImage.pageSize
    let place = part.lowerBound + random.below(part.count)
    let page = part.lowerBound + random.below((part.count + size - 1) / size) * size
    switch self {
    case .bits:
      let count = 1 + random.below(4)
      for _ in 0..<count { bytes[part.lowerBound + random.below(part.count)] ^= 1 << UInt8(random.below(8)) }
      return "\(count) bits"
    case .header:
      let offset = random.below(min(header, part.count))
      bytes[part.lowerBound + offset] = UInt8.random(in: .min ... .max, using: &random)
      return "byte \(offset)"
    case .bytes:
      let end = min(place + 1 + random.below(64), part.upperBound)
      for index in place..<end { bytes[index] = UInt8.random(in: .min ... .max, using: &random) }
      return "bytes \(place)..<\(end)"
    case .zeros:
      for index in page..<min(page + size, bytes.count) { bytes[index] = 0 }
      return "zeros at \(page)"
    case .truncation:
      let lengths = [
        part.lowerBound, random.below(min(100, part.upperBound)), random.below(part.upperBound),
      ]
      bytes.removeSubrange(lengths[random.below(lengths.count)]...)
      return "cut to \(bytes.count) bytes"
    case .exchangedPages:
      let other = random.below(max(1, bytes.count / size)) * size
      for index in 0..<size where max(page, other) + index < bytes.count {
        bytes.swapAt(page + index, other + index)
      }
      return "\(page) exchanged with \(other)"
    default: return "nothing"
    }
  }
}

/// The bytes of a database file, with its pages classified.
struct DatabaseImage {
  enum PageKind: String, CaseIterable { case meta, branch, leaf, overflow, freeList, other }

  static let pageSize = 4096
  let bytes: [UInt8]
  private(set) var pages: [PageKind: [Int]] = [:]
  /// Leaves whose older version is still in a free page, with that page.
  private(set) var rewrittenLeaves: [(leaf: Int, older: Int)] = []

  init(_ path: String) throws {
    bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    pages[.meta] = [0, 1]
    let first: UInt64 = word(144)
    let second: UInt64 = word(Self.pageSize + 144)
    let meta = first < second ? Self.pageSize : 0
    var seen: Set<Int> = [0, 1]
    collect(word(meta + 88 + 40), isFreeList: false, &seen)
    collect(word(meta + 40 + 40), isFreeList: true, &seen)
    pages[.other] = (0..<bytes.count / Self.pageSize).filter { !seen.contains($0) }
    findRewrittenLeaves()
  }

  private mutating func findRewrittenLeaves() {
    var leaves: [[ArraySlice<UInt8>]: Int] = [:]
    for leaf in pages[.leaf, default: []] { leaves[keys(of: leaf)] = leaf }
    for page in pages[.other, default: []] {
      let base = page * Self.pageSize
      guard (word(base) as UInt64) == UInt64(page), (word(base + 10) as UInt16) == 2 else { continue }
      if let leaf = leaves[keys(of: page)] { rewrittenLeaves.append((leaf, page)) }
    }
  }

  private func keys(of leaf: Int) -> [ArraySlice<UInt8>] {
    let base = leaf * Self.pageSize
    return (0..<(Int(word(base + 12) as UInt16) - 16) / 2).map { index in
      let node = base + Int(word(base + 16 + 2 * index) as UInt16)
      return bytes[node + 8..<node + 8 + Int(word(node + 6) as UInt16)]
    }
  }

  private func word<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> T {
    bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
  }

  /// Checks nothing: the image is undamaged.
  private mutating func collect(_ root: UInt64, isFreeList: Bool, _ seen: inout Set<Int>) {
    if root == .max { return }
    let page = Int(root)
    let base = page * Self.pageSize
    let isBranch = (word(base + 10) as UInt16) == 1
    seen.insert(page)
    pages[isFreeList ? .freeList : isBranch ? .branch : .leaf, default: []].append(page)
    for index in 0..<(Int(word(base + 12) as UInt16) - 16) / 2 {
      let node = base + Int(word(base + 16 + 2 * index) as UInt16)
      if isBranch {
        collect(UInt64(word(node) as UInt32), isFreeList: isFreeList, &seen)
      } else if (word(node + 4) as UInt16) == 1 {
        let start = Int(word(node + 8 + Int(word(node + 6) as UInt16)) as UInt64)
        for number in start..<start + Int(word(start * Self.pageSize + 12) as UInt32) {
          seen.insert(number)
          pages[isFreeList ? .freeList : .overflow, default: []].append(number)
        }
      }
    }
  }
}
