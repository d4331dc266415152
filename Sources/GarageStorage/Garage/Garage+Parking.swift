extension Garage {
  /// Parks an object, with the identified objects it leads to, in one transaction.
  ///
  /// The object is stored under its type and identifier: that of an `Identifiable` object, or a digest of the content
  /// of a `Hashable` one. It replaces any object stored there. Nested values with an identifier (a `String`, a `UUID`
  /// or `LosslessStringConvertible`) are parked separately; all others are part of the object.
  ///
  /// Objects may form cycles: each is parked once. Among several instances with one type and identifier, the one passed
  /// here wins, otherwise the first one met.
  ///
  /// - Throws: ``GarageError/Code/missingConformance`` and ``GarageError/Code/unsupportedIDConformance`` for a type
  ///   that cannot be parked separately; ``GarageError/Code/cycle`` if an object without an identifier contains itself;
  ///   ``GarageError/Code/unencodable``; ``GarageError/Code/missingEncryptionDelegate``;
  ///   ``GarageError/Code/storageFailed``. Nothing was parked then.
  public func park<T: Encodable>(_ object: T) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    try session.add(root: object)
    try park(session)
  }

  /// Parks objects in one transaction. The last one wins among those with the same identifier.
  ///
  /// - Throws: The errors of ``park(_:)``. Nothing was parked then.
  public func parkAll<T: Encodable>(_ objects: [T]) throws {
    let session = ParkingSession(self, dates: encodingOverride)
    for object in objects { try session.add(root: object) }
    try park(session)
  }
}
