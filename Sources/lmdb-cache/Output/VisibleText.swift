import Foundation

/// Text of anybody's, as it can be shown to people.
enum VisibleText {
  /// The most bytes of which the last one ends a character.
  static func whole(_ bytes: some BidirectionalCollection<UInt8>) -> String {
    var bytes = bytes[...]
    // A character has four bytes at most.
    for _ in 0..<4 {
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      _ = bytes.popLast()
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether it is UTF-8 without control characters but some.
  ///
  /// - Parameter limit: How many bytes are looked at.
  static func isText(
    _ data: Data, upTo limit: Int = .max, allowing controls: Set<Unicode.Scalar> = ["\n", "\t"]
  ) -> Bool {
    let part = data.prefix(limit)
    // The last character may be cut, of up to four bytes.
    let cuts = part.count < data.count ? 0..<4 : 0..<1
    guard let text = cuts.lazy.compactMap({ String(validating: part.dropLast($0), as: UTF8.self) }).first else {
      return false
    }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control || controls.contains($0) }
  }
}
