import Foundation
import LMDB

extension GarageError: CustomStringConvertible {
  /// What happened, and what can be done about it.
  public var description: String {
    switch self {
    case .failedToRetrieveObject(let type, let identifier):
      "There is no \(type) \"\(identifier)\" in the garage. Park it first."
    case .missingConformance(let type):
      "\(type) cannot be parked on its own. Make it Identifiable (or Mappable) or Hashable."
    case .unsupportedIDConformance(let type):
      "An identifier of type \(type) cannot be stored. Use a String, a UUID or a LosslessStringConvertible type."
    case .storageDataIsNil(let type):
      "A record of \(type) is empty. Park the object again, or delete it."
    case .missingReference(let type, let identifier, let path):
      """
      \(path) points to \(type) "\(identifier)", which is not in the garage. Park that object again, or make the \
      property optional or a @Reference.
      """
    case .cycle(let path):
      """
      Objects are properties of each other: \(path). No decoder can close such a cycle. Declare a property on the way \
      with @Reference, which is resolved when it is first read; what is parked can be read then.
      """
    case .nestedTooDeeply(let path):
      """
      Objects are nested more than \(Nesting.limit) levels: \(path). Declare a property on the way with @Reference, \
      which is resolved when it is first read.
      """
    case .undecodable(let type, let identifier, let error):
      """
      The stored \(type) "\(identifier)" cannot be read as the type asked for: \(Self.text(of: error)). Read it with \
      the type and the date strategy it was parked with, or park it again.
      """
    case .unencodable(let type, let identifier, let error):
      "\(type) \"\(identifier)\" cannot be encoded: \(Self.text(of: error)). Correct its value or its encode(to:)."
    case .damaged(let type, let identifier, let reason):
      identifier.isEmpty
        ? "A stored \(type) is damaged: \(reason). Park it again, or delete all objects of the type."
        : "The stored \(type) \"\(identifier)\" is damaged: \(reason). Park it again, or delete it."
    case .missingEncryptionDelegate(let what):
      "\(what) is encrypted. Set the garage's dataEncryptionDelegate, the one it was parked with."
    case .invalidMapping(let type, let reason):
      "The objectMapping of \(type) cannot be used: \(reason)"
    case .migrationConflict(let reason): reason
    case .invalidStore(let reason): reason
    case .storageFailed(let error):
      "The store failed: \(error)"
    }
  }

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

  /// The number of the case, in the order of their declaration.
  public var errorCode: Int {
    switch self {
    case .failedToRetrieveObject: 1
    case .missingConformance: 2
    case .unsupportedIDConformance: 3
    case .storageDataIsNil: 4
    case .missingReference: 5
    case .cycle: 6
    case .nestedTooDeeply: 7
    case .undecodable: 8
    case .unencodable: 9
    case .damaged: 10
    case .missingEncryptionDelegate: 11
    case .invalidMapping: 12
    case .migrationConflict: 13
    case .invalidStore: 14
    case .storageFailed: 15
    }
  }
}
