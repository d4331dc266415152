import Foundation

/// Why bytes are not CBOR, or not the requested item.
struct CBORError: LocalizedError, Hashable, CustomStringConvertible {
  enum Code: Hashable {
    /// The input ends within an item.
    case endOfInput
    /// A head with the reserved additional information 28…30, or 31 where no indefinite length is allowed.
    case reservedInformation
    /// A two-byte simple value below 32.
    case reservedSimpleValue
    /// A break outside an indefinite container, or between a key and its value.
    case unexpectedBreak
    /// A declared length or count that the rest of the input cannot hold.
    case lengthOverInput
    /// A chunk of an indefinite string that is not a definite string of the same type.
    case wrongChunk
    case invalidUTF8
    /// Arrays, maps and tags nest deeper than the limit.
    case tooDeep
    /// Bytes follow the item.
    case trailingBytes
    case duplicateKey
    /// The input is longer than the limit.
    case tooLarge
    /// The item is well-formed but not of the requested type.
    case unexpectedItem
    /// The number is out of the requested type's range.
    case outOfRange
  }

  let code: Code
  /// Byte offset in the input.
  let offset: Int

  init(_ code: Code, at offset: Int) {
    self.code = code
    self.offset = offset
  }

  var errorDescription: String? { description }
  var description: String {
    let reason =
      switch code {
      case .endOfInput: "the input ends within an item; it may have been cut off"
      case .reservedInformation: "a head uses additional information that RFC 8949 reserves"
      case .reservedSimpleValue: "a simple value below 32 is in two bytes"
      case .unexpectedBreak: "there is a break outside an array, map or string of indefinite length"
      case .lengthOverInput: "a length is over the rest of the input; it may have been cut off"
      case .wrongChunk: "a string of indefinite length has a chunk of another type"
      case .invalidUTF8: "a text string is not UTF-8"
      case .tooDeep: "arrays, maps and tags nest too deep; raise maximumDepth if the source is trusted"
      case .trailingBytes: "there are bytes after the end of the item"
      case .duplicateKey: "a map has two entries with the same key"
      case .tooLarge: "the input is too large; raise maximumSize if the source is trusted"
      case .unexpectedItem: "the item is of another type"
      case .outOfRange: "the number does not fit the type"
      }
    return "At byte \(offset): \(reason)."
  }
}
