import TestSupport

enum Corruption: String, CaseIterable {
  case bits, header, bytes, zeroedPage, truncation, exchangedPages, earlierPage, lostWrite

  /// Applies it to a random page, with each kind of page equally likely.
  func apply(to bytes: inout [UInt8], of image: DatabaseImage, earlier: DatabaseImage, _ random: inout SeededRandom)
    -> (kind: DatabaseImage.PageKind, text: String)
  {
    let size = DatabaseImage.pageSize
    let kinds = DatabaseImage.PageKind.allCases.filter { $0 != .other && !image.pages[$0, default: []].isEmpty }
    let kind = kinds.randomElement(using: &random)!
    let page = image.pages[kind]!.randomElement(using: &random)!
    let start = page * size
    // Most of a meta page is unused.
    let length = kind == .meta ? 160 : size
    switch self {
    case .bits:
      let count = 1 + random.below(4)
      for _ in 0..<count { bytes[start + random.below(length)] ^= 1 << UInt8(random.below(8)) }
      return (kind, "\(count) bits of \(kind) page \(page)")
    case .header:
      let offset = random.below(kind == .meta ? 160 : 32)
      bytes[start + offset] = UInt8.random(in: .min ... .max, using: &random)
      return (kind, "byte \(offset) of \(kind) page \(page)")
    case .bytes:
      let offset = random.below(length)
      let count = min(1 + random.below(64), length - offset)
      for index in 0..<count { bytes[start + offset + index] = UInt8.random(in: .min ... .max, using: &random) }
      return (kind, "\(count) bytes at \(offset) of \(kind) page \(page)")
    case .zeroedPage:
      for index in start..<min(start + size, bytes.count) { bytes[index] = 0 }
      return (kind, "\(kind) page \(page) zeroed")
    case .truncation:
      let count = random.below(3) == 0 ? start : random.below(bytes.count)
      bytes.removeLast(bytes.count - count)
      return (kind, "cut to \(count) bytes")
    case .exchangedPages:
      let other = random.below(bytes.count / size)
      for index in 0..<size { bytes.swapAt(start + index, other * size + index) }
      return (kind, "\(kind) page \(page) exchanged with \(other)")
    case .lostWrite:
      // An older copy of the page under its current page number: every checksum in it is valid.
      guard let (leaf, older) = image.rewrittenLeaves.randomElement(using: &random) else { return (kind, "nothing") }
      let range = leaf * size + 8..<(leaf + 1) * size
      bytes.replaceSubrange(range, with: image.bytes[older * size + 8..<(older + 1) * size])
      return (.leaf, "leaf page \(leaf) as page \(older) has it")
    case .earlierPage:
      let end = min(start + size, earlier.bytes.count)
      if start < end { bytes.replaceSubrange(start..<end, with: earlier.bytes[start..<end]) }
      return (kind, "\(kind) page \(page) as it was earlier")
    }
  }
}
