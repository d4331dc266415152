import TestSupport

/// A corruption of the value log's files, or of a journal.
enum LogCorruption: String, CaseIterable {
  case bits, header, bytes, zeros, truncation, garbageAtTheEnd, exchangedParts, exchangedFiles, removal
  case foreignFile, foreignContents

  /// A cache's files of one kind by name, and those of another cache.
  struct Files {
    var own: [String: [UInt8]]
    let others: [String: [UInt8]]
  }

  func apply(to files: inout Files, _ random: inout SeededRandom) -> String {
    let names = files.own.keys.sorted()
    let name = names.randomElement(using: &random)!
    var bytes = files.own[name]!
    var text = "\(self) of \(name)"
    // Mostly damage the used part of the file.
    let used = max(1, (bytes.lastIndex { $0 != 0 } ?? 0) + 1)
    switch self {
    case .bits:
      for _ in 0..<1 + random.below(4) {
        let place = random.below(used)
        bytes[place] ^= 1 << UInt8(random.below(8))
        text += ", \(place)"
      }
    case .header:
      let place = random.below(min(used, 200))
      bytes[place] = UInt8.random(in: .min ... .max, using: &random)
      text += ", \(place)"
    case .bytes:
      let place = random.below(used)
      let count = min(1 + random.below(64), bytes.count - place)
      for index in place..<place + count { bytes[index] = UInt8.random(in: .min ... .max, using: &random) }
      text += ", \(place)"
    case .zeros:
      let place = random.below(used)
      for index in place..<min(bytes.count, place + 4_096) { bytes[index] = 0 }
      text += ", \(place)"
    case .truncation:
      let count = random.below(4) == 0 ? random.below(100) : random.below(used)
      bytes.removeLast(bytes.count - min(count, bytes.count))
      text += " to \(bytes.count)"
    case .garbageAtTheEnd: bytes += random.bytes(1 + random.below(100_000))
    case .exchangedParts:
      let parts = [0, 1].map { _ in random.below(max(1, used / 4_096)) * 4_096 }
      for index in 0..<4_096 where max(parts[0], parts[1]) + index < bytes.count {
        bytes.swapAt(parts[0] + index, parts[1] + index)
      }
      text += ", \(parts)"
    case .exchangedFiles:
      let other = names.randomElement(using: &random)!
      text += " and \(other)"
      let contents = bytes
      bytes = files.own[other]!
      files.own[other] = contents
    case .foreignFile:
      let (other, contents) = files.others.min { $0.key < $1.key }!
      files.own[other] = contents
    case .foreignContents: bytes = files.others.min { $0.key < $1.key }!.value
    case .removal:
      files.own[name] = nil
      return text
    }
    files.own[name] = bytes
    return text
  }

  /// Excludes another cache's intact journal, which would be replayed wherever it is.
  static let ofJournals = allCases.filter { $0 != .foreignFile && $0 != .foreignContents }
}
