import Foundation

extension Garage {
  /// The identifier an object is parked under: its own if it is `Identifiable`, else a digest of its content.
  ///
  /// The digest is SHA-256 of the object's JSON with sorted keys, in hexadecimal: the same in every process, unlike
  /// `hashValue`. It is what ``retrieve(_:identifier:)`` finds a `Hashable` object by.
  ///
  /// - Throws: ``GarageError/missingConformance(_:)``, ``GarageError/unsupportedIDConformance(_:)``, and what the
  ///   object's `encode(to:)` throws.
  public func identifier(for object: some Encodable) throws -> String {
    try key(of: object).identifier
  }

  func key(of object: some Encodable) throws -> ObjectKey {
    let type = type(of: object)
    let identity = TypeIdentity.of(type)
    if identity.isIdentifiable, let identifiable = object as? any Identifiable {
      guard let identifier = TypeIdentity.identifier(of: identifiable) else {
        throw GarageError.unsupportedIDConformance(String(describing: Swift.type(of: identifiable.id as Any)))
      }
      return ObjectKey(identity, identifier)
    }
    guard object is any Hashable else { throw GarageError.missingConformance(identity.shortName) }
    return try digestKey(identity) { session, slot in try session.encodeInPlace(object, into: slot, at: []) }
  }

  func digestKey(
    _ identity: TypeIdentity, _ encode: (ParkingSession, EncodingSlot) throws -> Void
  ) throws -> ObjectKey {
    let session = ParkingSession(self, dates: nil, followsReferences: false)
    let slot = EncodingSlot()
    do {
      try encode(session, slot)
    } catch let error as EncodingError {
      throw GarageError.unencodable(identity.shortName, "", error)
    }
    let digits = Array("0123456789abcdef".utf8)
    let digest = SHA256.digest(of: JSONWriter.bytes(of: slot.json))
    return ObjectKey(
      identity, String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self))
  }
}
