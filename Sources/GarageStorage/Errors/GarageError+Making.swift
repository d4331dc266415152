import Foundation

// The garage's error messages.

extension GarageError {
  static func failedToRetrieveObject(_ type: String, _ identifier: String) -> GarageError {
    GarageError(.failedToRetrieveObject, "There is no \(type) \"\(identifier)\" in the garage. Park it first.")
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

  static func missingReference(_ type: String, _ identifier: String, path: String) -> GarageError {
    GarageError(
      .missingReference,
      """
      \(path) points to \(type) "\(identifier)", which is not in the garage. Park that object again, or make the \
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
    switch error {
    case DecodingError.dataCorrupted(let it): context = (it.codingPath, it.debugDescription)
    case DecodingError.keyNotFound(_, let it): context = (it.codingPath, it.debugDescription)
    case DecodingError.typeMismatch(_, let it): context = (it.codingPath, it.debugDescription)
    case DecodingError.valueNotFound(_, let it): context = (it.codingPath, it.debugDescription)
    case EncodingError.invalidValue(_, let it): context = (it.codingPath, it.debugDescription)
    default: return "\(error)"
    }
    return context.path.isEmpty ? context.text : "\(context.text) at \(CodingPath.text(of: context.path))"
  }
}
