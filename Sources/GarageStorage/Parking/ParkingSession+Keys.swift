extension ParkingSession {
  /// An object's key: its identifier if it is `Identifiable`, otherwise a digest of its content.
  static func key(of object: some Encodable) throws -> ObjectKey {
    let identity = TypeIdentity.of(type(of: object))
    if identity.isIdentifiable, let identifiable = object as? any Identifiable {
      guard let identifier = TypeIdentity.identifier(of: identifiable) else {
        throw GarageError.unsupportedIDConformance(String(describing: Swift.type(of: identifiable.id as Any)))
      }
      return ObjectKey(identity, identifier)
    }
    guard object is any Hashable else { throw GarageError.missingConformance(identity.shortName) }
    return try digestKey(identity) { session, slot in try session.encodeInPlace(object, into: slot, at: []) }
  }

  static func digestKey(
    _ identity: TypeIdentity, _ encode: (ParkingSession, EncodingSlot) throws -> Void
  ) throws -> ObjectKey {
    let session = ParkingSession(nil, dates: nil, for: .identifying)
    let json = try session.json(label: identity.shortName) { try encode(session, $0) }
    return ObjectKey(identity, ContentDigest.text(of: JSONWriter.bytes(of: json)))
  }
}
