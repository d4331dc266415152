extension Garage {
  /// Retrieves the object of a type with an identifier, or `nil`.
  ///
  /// Plain properties retrieve their objects with it, from the same snapshot and each once: two properties that point
  /// to one object of a class hold one instance. A ``Reference`` retrieves its objects when first read. An optional
  /// that points to a deleted object is nil.
  ///
  /// Chains of plain properties may have tens of thousands of objects. Deep ones are created on other threads than the
  /// caller's, one at a time, so an `init(from:)` cannot rely on its thread. It must not change the garage.
  ///
  /// - Parameter identifier: A `String`, a `UUID`, or another `LosslessStringConvertible` value.
  /// - Throws: A `DecodingError` with a ``GarageError`` in its context for ``GarageError/Code/undecodable`` and
  ///   ``GarageError/Code/missingReference``; ``GarageError/Code/unsupportedIDConformance`` for a nil or another type
  ///   of identifier; ``GarageError/Code/cycle``, ``GarageError/Code/missingEncryptionDelegate``,
  ///   ``GarageError/Code/damaged``, ``GarageError/Code/storageFailed``. The stored data is kept.
  public func retrieve<T: Decodable, ID>(_ objectType: T.Type, identifier: ID) throws -> T? {
    let key = ObjectKey(TypeIdentity.of(objectType), try TypeIdentity.text(ofIdentifier: identifier))
    return try retrieving { try $0.root(objectType, key) }
  }

  /// Retrieves all objects of a type from one snapshot, ordered by the bytes of their identifiers.
  ///
  /// - Throws: The errors of ``retrieve(_:identifier:)``, if any object cannot be read.
  public func retrieveAll<T: Decodable>(_ objectType: T.Type) throws -> [T] {
    try retrieveAll(objectType) { view in try view.records(ofType: TypeIdentity.of(objectType).name) }
  }

  func retrieveAll<T: Decodable>(
    _ type: T.Type, _ records: (GarageView) throws -> [(ObjectKey, StoredRecord)]
  ) throws -> [T] {
    try retrieving { session in
      try records(session.view).map { try session.object(type, $0.0, $0.1) }
    }
  }
}
