extension Garage {
  /// The identifier an object is parked under: its own if it is `Identifiable`, otherwise a digest of its content.
  ///
  /// The digest is the SHA-256 of the object's JSON with sorted keys, in hexadecimal. Unlike `hashValue` it is the same
  /// in every process. Pass it to ``retrieve(_:identifier:)`` to find a `Hashable` object.
  ///
  /// - Throws: ``GarageError/Code/missingConformance``, ``GarageError/Code/unsupportedIDConformance``, and the error of
  ///   the object's `encode(to:)`.
  public func identifier(for object: some Encodable) throws -> String {
    try ParkingSession.key(of: object).identifier
  }
}
