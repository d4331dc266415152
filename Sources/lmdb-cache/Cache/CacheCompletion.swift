import ArgumentParser
import Foundation
import LMDBCaching

/// What a shell offers where a cache is to be named: the caches of the user, and directories by their paths.
enum CacheCompletion {
  static let kind = CompletionKind.custom { _, _, word in candidates(for: word).map(quoted) }

  /// - Parameter word: What is typed so far, as it is typed: with the shell's quotes and backslashes.
  private static func candidates(for word: String) -> [String] {
    let text = unquoted(word)
    // What holds a slash is a path; a name is anything else. `./` leads on to paths.
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
      // Bash adds the slash itself, and shows what is behind the last one.
      .map { place + $0 + (CompletionShell.requesting == .bash ? "" : "/") }
  }

  /// Nothing where that cannot be read: there is nobody to tell while a key is pressed. Lines are what a shell reads, so
  /// what has more than one cannot be offered.
  private static func contents(of path: String) -> [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    return (names ?? []).filter(isLine)
  }

  private static func isLine(_ name: String) -> Bool { !name.utf8.contains { $0 < 0x20 || $0 == 0x7F } }

  private static func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
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

  /// As the shell's script wants a candidate. Bash expands it as it does a word of a command: what somebody's directory is
  /// called must not run.
  private static func quoted(_ candidate: String) -> String {
    switch CompletionShell.requesting {
    case .bash?:
      candidate.reduce(into: "") { text, character in
        let isPlain = character.isLetter || character.isNumber || "/._-+@%,".contains(character)
        text += (isPlain ? "" : "\\") + String(character)
      }
    // A description would follow a colon.
    case .zsh?: candidate.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    default: candidate
    }
  }
}
