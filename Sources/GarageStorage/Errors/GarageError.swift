public import Foundation

/// What went wrong in a garage, with the remedy in its message.
///
/// Match on ``code``; the message is for people and may change between versions. Nothing that was stored is lost or
/// replaced by a failure.
///
/// What cannot be decoded is thrown as a `DecodingError`, as by every decoder, whose context has the `GarageError` as
/// its `underlyingError`: ``Code/undecodable`` and ``Code/missingReference``. Match both kinds by the code, or ask
/// ``init(_:)`` for the error:
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
/// Other errors that code of the stored types throws while it encodes or decodes itself are passed on as they are, but
/// for `EncodingError`: it comes as ``Code/unencodable``, whose message names the object.
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
  /// Two errors are equal if they say the same. The failures beneath them are not compared.
  public static func == (one: GarageError, other: GarageError) -> Bool {
    one.code == other.code && one.message == other.message
  }
}
