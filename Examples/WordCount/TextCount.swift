import Foundation

/// A file's counts. A cached value must be `Codable` and `Sendable`.
struct TextCount: Codable, Sendable {
  var lines = 0
  var words = 0
  var characters = 0
  /// False if the file is not UTF-8, which is remembered too.
  var isText = true
}

extension TextCount {
  init(of data: Data) {
    guard let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0) else {
      isText = false
      return
    }
    var isInWord = false
    for character in text {
      characters += 1
      if character.isNewline { lines += 1 }
      if !isInWord && !character.isWhitespace { words += 1 }
      isInWord = !character.isWhitespace
    }
  }

  static func + (one: TextCount, other: TextCount) -> TextCount {
    TextCount(
      lines: one.lines + other.lines, words: one.words + other.words, characters: one.characters + other.characters)
  }
}

extension TextCount: CustomStringConvertible {
  var description: String { "\(lines) lines, \(words) words, \(characters) characters" }
}
