import ArgumentParser
import LMDBCachingImport

/// The argument of `--types`: `launches=int32,draft:*=string`. A backslash takes the comma, asterisk or backslash behind it
/// literally.
struct MMKVTypeList: ExpressibleByArgument {
  static let names = MMKVType.allCases.map(\.rawValue).joined(separator: ", ")

  let types: MMKVTypes

  init?(argument: String) {
    var types = MMKVTypes()
    for part in Self.parts(argument) {
      guard let equals = part.lastIndex(where: { $0.character == "=" }),
        let type = MMKVType(rawValue: Self.text(part[(equals + 1)...]))
      else { return nil }
      let pattern = part[..<equals]
      if let last = pattern.last, last.character == "*", !last.isLiteral {
        types.set(type, for: Self.text(pattern))
      } else {
        types.set(type, forKey: Self.text(pattern))
      }
    }
    self.types = types
  }

  private struct Letter {
    let character: Character
    let isLiteral: Bool
  }

  private static func text(_ letters: ArraySlice<Letter>) -> String { String(letters.map(\.character)) }

  /// What is between the commas.
  private static func parts(_ argument: String) -> [[Letter]] {
    var parts: [[Letter]] = [[]]
    var isLiteral = false
    for character in argument {
      switch character {
      case "\\" where !isLiteral:
        isLiteral = true
        continue
      case "," where !isLiteral: parts.append([])
      default: parts[parts.count - 1].append(Letter(character: character, isLiteral: isLiteral))
      }
      isLiteral = false
    }
    return parts
  }
}
