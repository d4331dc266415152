public import Foundation

/// A failure of a garage, with the remedy in its message. Stored objects are kept.
///
/// Match on ``code``, or ask ``init(_:)`` for the error: undecodable objects and missing references are thrown as a
/// `DecodingError` whose `underlyingError` is the `GarageError`:
///
/// ```swift
/// do {
///   print(try Garage().retrieve(Person.self, identifier: "Sam") as Any)
/// } catch GarageError.Code.missingReference {
///   print("Somebody was deleted.")
/// } catch {
///   print(GarageError(error)?.message ?? "\(error)")
/// }
/// ```
///
/// An `EncodingError` of stored types comes as ``Code/unencodable``; their other errors are passed on.
public struct GarageError: LocalizedError, Sendable {
  public var code: Code
  /// What happened, to which object, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
}

extension GarageError: CustomStringConvertible {
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

extension GarageError: CustomNSError {
  /// "GarageStorage".
  public static var errorDomain: String { "GarageStorage" }

  /// The number of the code. Numbers keep their meaning between versions.
  public var errorCode: Int { code.number }

  public var errorUserInfo: [String: Any] {
    var information: [String: Any] = [NSLocalizedDescriptionKey: message]
    information[NSUnderlyingErrorKey] = underlying
    return information
  }
}

extension GarageError: Equatable {
  /// Whether two errors have the same code and message.
  public static func == (one: GarageError, other: GarageError) -> Bool {
    one.code == other.code && one.message == other.message
  }
}

extension GarageError {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    let number: Int

    private init(_ description: String, _ number: Int) {
      self.description = description
      self.number = number
    }

    /// No such object is parked, and the operation needs it: deleting, or its sync status.
    public static let failedToRetrieveObject = Code("failedToRetrieveObject", 1)
    /// A root's type is neither `Identifiable` nor `Hashable`.
    public static let missingConformance = Code("missingConformance", 2)
    /// An identifier is neither a `String`, nor a `UUID`, nor `LosslessStringConvertible`.
    public static let unsupportedIDConformance = Code("unsupportedIDConformance", 3)
    /// The object's record is empty. It is kept.
    public static let storageDataIsNil = Code("storageDataIsNil", 4)
    /// An object points to one that is not parked; see the message. Thrown as a `DecodingError`.
    public static let missingReference = Code("missingReference", 5)
    /// Objects are plain properties of each other, so none can be created first; see the message. They are kept.
    public static let cycle = Code("cycle", 6)
    /// Objects are nested too deeply; see the message.
    public static let nestedTooDeeply = Code("nestedTooDeeply", 7)
    /// The stored object cannot be read as the requested type. It is kept. Thrown as a `DecodingError`.
    public static let undecodable = Code("undecodable", 8)
    /// The object cannot be encoded. Nothing was parked.
    public static let unencodable = Code("unencodable", 9)
    /// The record of one object is damaged. It is kept.
    public static let damaged = Code("damaged", 10)
    /// The garage or the object is encrypted, and there is no ``Garage/dataEncryptionDelegate``.
    public static let missingEncryptionDelegate = Code("missingEncryptionDelegate", 11)
    /// The mapping of the type is incomplete or invalid.
    public static let invalidMapping = Code("invalidMapping", 12)
    /// The objects cannot get the new type's name. Nothing was changed.
    public static let migrationConflict = Code("migrationConflict", 13)
    /// The description of the store cannot be used.
    public static let invalidStore = Code("invalidStore", 14)
    /// LMDB or the file system failed; see ``GarageError/underlying``. Unsaved changes stay pending.
    public static let storageFailed = Code("storageFailed", 15)
    /// The garage's file was truncated or damaged. Nothing was changed or removed.
    public static let damagedStore = Code("damagedStore", 16)
    /// The directory holds something else: a cache, another database, other files. Nothing was changed.
    public static let notAGarage = Code("notAGarage", 17)
    /// The garage was written by a newer version of this package. Nothing was changed.
    public static let unsupportedVersion = Code("unsupportedVersion", 18)
    /// The garage was closed.
    public static let closed = Code("closed", 19)
    /// A file of the garage is a link, or not a regular file. Nothing was changed.
    public static let linkedFile = Code("linkedFile", 20)
  }
}

// The original's cases, so that `catch GarageError.failedToRetrieveObject` means the same.
extension GarageError {
  /// ``Code/failedToRetrieveObject``
  public static var failedToRetrieveObject: Code { .failedToRetrieveObject }
  /// ``Code/missingConformance``
  public static var missingConformance: Code { .missingConformance }
  /// ``Code/unsupportedIDConformance``
  public static var unsupportedIDConformance: Code { .unsupportedIDConformance }
  /// ``Code/storageDataIsNil``
  public static var storageDataIsNil: Code { .storageDataIsNil }
}

// The garage's error messages.

extension GarageError {
  static func failedToRetrieveObject(_ label: String) -> GarageError {
    GarageError(.failedToRetrieveObject, "There is no \(label) in the garage. Park it first.")
  }

  static func missingConformance(_ type: String) -> GarageError {
    GarageError(
      .missingConformance,
      "\(type) cannot be parked on its own. Make it Identifiable (or Mappable) or Hashable.")
  }

  static func unsupportedIDConformance(_ type: String) -> GarageError {
    GarageError(
      .unsupportedIDConformance,
      "An identifier of type \(type) cannot be stored. Use a String, a UUID or a LosslessStringConvertible type.")
  }

  static func storageDataIsNil(_ label: String) -> GarageError {
    GarageError(.storageDataIsNil, "The record of \(label) is empty. Park the object again, or delete it.")
  }

  static func missingReference(_ label: String, path: String) -> GarageError {
    GarageError(
      .missingReference,
      """
      \(path) points to \(label), which is not in the garage. Park that object again, or make the \
      property optional or a @Reference.
      """)
  }

  /// - Parameter path: From an object through its properties back to it.
  static func cycle(path: String) -> GarageError {
    GarageError(
      .cycle,
      """
      Objects are properties of each other: \(path). No decoder can close such a cycle. Declare a property on the way \
      with @Reference, which is resolved when it is first read; what is parked can be read then.
      """)
  }

  static func nestedTooDeeply(path: String, limit: Int) -> GarageError {
    GarageError(
      .nestedTooDeeply,
      """
      Values are nested more than \(limit) levels: \(path). Give an object on the way an identifier, or declare its \
      property with @Reference.
      """)
  }

  static func chainTooLong(path: String, limit: Int) -> GarageError {
    GarageError(
      .nestedTooDeeply,
      """
      Objects lead through more than \(limit) others in plain properties: \(path). Declare a property on the way with \
      @Reference, which is resolved when it is first read; what is parked can be read then.
      """)
  }

  static func undecodable(_ label: String, _ error: any Error) -> GarageError {
    GarageError(
      .undecodable,
      """
      The stored \(label) cannot be read as the type asked for: \(text(of: error)). Read it with the type and the date \
      strategy it was parked with, or park it again.
      """, underlying: error)
  }

  static func unencodable(_ label: String, _ error: any Error) -> GarageError {
    GarageError(
      .unencodable, "\(label) cannot be encoded: \(text(of: error)). Correct its value or its encode(to:).",
      underlying: error)
  }

  static func damaged(_ label: String, _ reason: String, underlying: (any Error)? = nil) -> GarageError {
    GarageError(
      .damaged, "The stored \(label) is damaged: \(reason). Park it again, or delete it.", underlying: underlying)
  }

  /// For a record with an unknown identifier.
  static func damaged(type: String, _ reason: String) -> GarageError {
    GarageError(
      .damaged,
      "A stored \(type) is damaged: \(reason). Park it again, or delete all objects of the type.")
  }

  static func missingEncryptionDelegate(_ what: String) -> GarageError {
    GarageError(
      .missingEncryptionDelegate,
      "\(what) is encrypted. Set the garage's dataEncryptionDelegate, the one it was parked with.")
  }

  static func invalidMapping(_ type: String, _ reason: String) -> GarageError {
    GarageError(.invalidMapping, "The objectMapping of \(type) cannot be used: \(reason)")
  }

  static func migrationConflict(_ reason: String) -> GarageError { GarageError(.migrationConflict, reason) }

  static func invalidStore(_ reason: String) -> GarageError { GarageError(.invalidStore, reason) }

  static let closed = GarageError(.closed, "The garage was closed. Make another one.")

  private static func text(of error: any Error) -> String {
    let context: (path: [any CodingKey], text: String)
    if case EncodingError.invalidValue(_, let it) = error {
      context = (it.codingPath, it.debugDescription)
    } else if let it = (error as? DecodingError)?.context {
      context = (it.codingPath, it.debugDescription)
    } else {
      return "\(error)"
    }
    return context.path.isEmpty ? context.text : "\(context.text) at \(context.path.text)"
  }
}

// Decoding failures are a `DecodingError` for callers and for the stored types' code, with the garage's error in its
// context.

extension GarageError {
  /// The garage's error: the error itself, or the one underlying a `DecodingError`. `nil` for other errors.
  public init?(_ error: any Error) {
    switch error {
    case let error as GarageError: self = error
    case let error as DecodingError:
      guard let found = error.context?.underlyingError as? GarageError else { return nil }
      self = found
    default: return nil
    }
  }
}

extension GarageError.Code {
  /// Matches the garage's errors whatever their type: `catch GarageError.Code.missingReference`.
  public static func ~= (code: GarageError.Code, error: any Error) -> Bool { GarageError(error)?.code == code }
}

extension DecodingError {
  /// Adds the object's label to the error, unless a nested object has added its own.
  func naming(_ label: String) -> DecodingError {
    guard let context, !(context.underlyingError is GarageError) else { return self }
    let named = Context(
      codingPath: context.codingPath, debugDescription: context.debugDescription,
      underlyingError: GarageError.undecodable(label, self))
    return switch self {
    case .typeMismatch(let type, _): .typeMismatch(type, named)
    case .valueNotFound(let type, _): .valueNotFound(type, named)
    case .keyNotFound(let key, _): .keyNotFound(key, named)
    default: .dataCorrupted(named)
    }
  }

  /// `nil` for unknown kinds of errors.
  fileprivate var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }
}

extension [any CodingKey] {
  /// A coding path for messages: `.siblings[2].name`.
  var text: String { map { key in key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }.joined() }
}
