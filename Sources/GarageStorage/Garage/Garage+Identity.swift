extension Garage {
  /// The identifier an object is parked under: its own if it is `Identifiable`, else a digest of its content.
  ///
  /// The digest is SHA-256 of the object's JSON with sorted keys, in hexadecimal: the same in every process, unlike
  /// `hashValue`. It is what ``retrieve(_:identifier:)`` finds a `Hashable` object by.
  ///
  /// - Throws: ``GarageError/Code/missingConformance``, ``GarageError/Code/unsupportedIDConformance``, and what the
  ///   object's `encode(to:)` throws.
  public func identifier(for object: some Encodable) throws -> String {
    try ParkingSession.key(of: object).identifier
  }
}
