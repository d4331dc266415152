public import Foundation

/// Why an object was not archived, or bytes were not read, with the remedy in its message. Match on ``code``. For
/// malformed bytes it is the `underlyingError` of ``CBORDecoder``'s `DecodingError`.
public struct CBORCodingError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// An object, or something that it holds, cannot be archived. There is no archive.
    public static let encodingFailed = Code("encodingFailed")
    /// The bytes are no CBOR, not whole, or not the archive that they were taken for.
    public static let malformed = Code("malformed")
    /// Values nest deeper than the limit, or than the stack of the thread holds, or references lead to more than 20,000
    /// levels.
    public static let tooDeep = Code("tooDeep")
    /// The input is longer than the limit.
    public static let tooLarge = Code("tooLarge")
    /// The archive holds a value of another kind than was asked for.
    public static let typeMismatch = Code("typeMismatch")
    /// The archive holds an object of a class that is not among those that were allowed, or that does not conform to
    /// `NSSecureCoding` where that is required.
    public static let classNotAllowed = Code("classNotAllowed")
    /// The archive names a class that is not in this process.
    public static let classUnknown = Code("classUnknown")
    /// An object refers to another one whose `init(coder:)` has not returned yet.
    public static let cycle = Code("cycle")
    /// An object could not be made of what the archive holds: its `init(coder:)` returned `nil`, or reported an error.
    public static let decodingFailed = Code("decodingFailed")
  }

  public var code: Code
  /// What happened, where in the archive, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

extension CBORCodingError {
  init(_ error: CBORError, _ message: String = "") {
    let code: Code =
      switch error.code {
      case .tooDeep: .tooDeep
      case .tooLarge: .tooLarge
      default: .malformed
      }
    self.init(code, message.isEmpty ? "\(error)" : "\(message) \(error)")
  }
}

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
