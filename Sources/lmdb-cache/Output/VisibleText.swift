import Foundation

/// Untrusted text in displayable form.
enum VisibleText {
  /// Drops an incomplete character at the end.
  static func whole(_ bytes: some BidirectionalCollection<UInt8>) -> String {
    var bytes = bytes[...]
    // A character has at most four bytes.
    for _ in 0..<4 {
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      _ = bytes.popLast()
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the data is UTF-8 without control characters other than those allowed.
  ///
  /// - Parameter limit: The number of bytes to examine.
  static func isText(
    _ data: Data, upTo limit: Int = .max, allowing controls: Set<Unicode.Scalar> = ["\n", "\t"]
  ) -> Bool {
    let part = data.prefix(limit)
    // The last character, of up to four bytes, may be cut.
    let cuts = part.count < data.count ? 0..<4 : 0..<1
    guard let text = cuts.lazy.compactMap({ String(validating: part.dropLast($0), as: UTF8.self) }).first else {
      return false
    }
    return text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control || controls.contains($0) }
  }
}
