extension Garage {
  /// Parks an object, and the identified objects it leads to, in one transaction.
  ///
  /// The object is stored under its type and its identifier: that of an `Identifiable` object, or a digest of the content
  /// of a `Hashable` one. What is stored there already is replaced. Within the object, values with an identifier (of type
  /// `String`, `UUID` or `LosslessStringConvertible`) are parked on their own, and everything else is part of it.
  ///
  /// Objects may point to each other in cycles: each is parked once. Of several instances with one type and identifier,
  /// the one that is passed here counts, or else the one that is met first.
  ///
  /// - Throws: ``GarageError/Code/missingConformance`` and ``GarageError/Code/unsupportedIDConformance`` for a type that
  ///   cannot be parked on its own; ``GarageError/Code/cycle`` if an object without an identifier contains itself;
  ///   ``GarageError/Code/unencodable``; ``GarageError/Code/missingEncryptionDelegate``;
  ///   ``GarageError/Code/storageFailed``. Nothing was parked then.
  public func park<T: Encodable>(_ object: T) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    try session.add(root: object)
    try park(session)
  }

  /// Parks objects, in one transaction. Of objects with the same identifier, the last one counts.
  ///
  /// - Throws: as ``park(_:)`` does. None of them was parked then.
  public func parkAll<T: Encodable>(_ objects: [T]) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    for object in objects { try session.add(root: object) }
    try park(session)
  }
}
