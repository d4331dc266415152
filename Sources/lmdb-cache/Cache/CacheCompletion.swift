import ArgumentParser
import Foundation
import LMDBCaching

/// Shell completion for cache arguments: the user's caches by name, and directories by path.
enum CacheCompletion {
  static let kind = CompletionKind.custom { _, _, word in candidates(for: word).map(quoted) }

  /// - Parameter word: The word typed so far, including the shell's quotes and backslashes.
  private static func candidates(for word: String) -> [String] {
    let text = unquoted(word)
    // A word with a slash is a path, any other a name. `./` leads to paths.
    guard let slash = text.lastIndex(of: "/") else {
      return (names() + [".", ".."].map { $0 + "/" }).filter { $0.hasPrefix(text) && (text != "" || $0 != "../") }
    }
    return directories(in: String(text[...slash]), withPrefix: String(text[text.index(after: slash)...]))
  }

  private static func names() -> [String] { Set(CacheLocation.named.map(\.lastPathComponent)).filter(isLine).sorted() }

  /// - Parameter place: Ends in a slash. A leading `~/` is the user's home.
  private static func directories(in place: String, withPrefix prefix: String) -> [String] {
    let path = place.hasPrefix("~/") ? UserDirectory.homePath + place.dropFirst() : place
    return contents(of: path)
      .filter { $0.hasPrefix(prefix) && (prefix.hasPrefix(".") || !$0.hasPrefix(".")) && isDirectory(path + $0) }
      .sorted()
      // Bash adds the slash itself, and shows the part after the last one.
      .map { place + $0 + (CompletionShell.requesting == .bash ? "" : "/") }
  }

  /// Empty if unreadable: completion cannot report errors. Shells read lines, so names with several lines are omitted.
  private static func contents(of path: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    return (names ?? []).filter(isLine)
  }

  private static func isLine(_ name: String) -> Bool { !name.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
  }

  // MARK: - Quoting

  private static func unquoted(_ word: String) -> String {
    var text = ""
    var isEscaped = false
    var quote: Character?
    for character in word {
      if isEscaped {
        text.append(character)
        isEscaped = false
      } else if character == "\\" && quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil && (character == "'" || character == "\"") {
        quote = character
      } else {
        text.append(character)
      }
    }
    return text
  }

  /// Quotes a candidate for the shell's script. Bash expands it like a command's word, so a directory's name must not
  /// run as code.
  private static func quoted(_ candidate: String) -> String {
    switch CompletionShell.requesting {
    case .bash?:
      candidate.reduce(into: "") { text, character in
        let isPlain = character.isLetter || character.isNumber || "/._-+@%,".contains(character)
        text += (isPlain ? "" : "\\") + String(character)
      }
    // A colon would begin a description.
    case .zsh?: candidate.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    default: candidate
    }
  }
}
