import ArgumentParser
import LMDBCachingImport

/// The argument of `--types`: `launches=int32,draft:*=string`. A backslash escapes a comma, asterisk or backslash.
struct MMKVTypeList: ExpressibleByArgument {
  static let names = MMKVType.allCases.map(\.rawValue).joined(separator: ", ")

  let types: MMKVTypes

  init?(argument: String) {
    var types = MMKVTypes()
    for part in Self.parts(argument) {
      guard let equals = part.lastIndex(where: { $0.scalar == "=" }),
        let type = MMKVType(rawValue: Self.text(part[(equals + 1)...]))
      else { return nil }
      let pattern = part[..<equals]
      if let last = pattern.last, last.scalar == "*", !last.isLiteral {
        types.set(type, for: Self.text(pattern))
      } else {
        types.set(type, forKey: Self.text(pattern))
      }
    }
    self.types = types
  }

  /// A scalar, not a character, which might combine a comma or asterisk with a letter.
  private struct Letter {
    let scalar: Unicode.Scalar
    let isLiteral: Bool
  }

  private static func text(_ letters: ArraySlice<Letter>) -> String {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: letters.map(\.scalar))
    return String(scalars)
  }

  /// Splits at unescaped commas.
  private static func parts(_ argument: String) -> [[Letter]] {
    var parts: [[Letter]] = [[]]
    var isLiteral = false
    for scalar in argument.unicodeScalars {
      switch scalar {
      case "\\" where !isLiteral:
        isLiteral = true
        continue
      case "," where !isLiteral: parts.append([])
      default: parts[parts.count - 1].append(Letter(scalar: scalar, isLiteral: isLiteral))
      }
      isLiteral = false
    }
    return parts
  }
}
