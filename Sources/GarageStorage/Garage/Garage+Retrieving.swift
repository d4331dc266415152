extension Garage {
  /// Retrieves the object of a type with an identifier. Returns `nil` if there is none.
  ///
  /// Objects it points to with plain properties are retrieved with it, all from one moment, each once: two properties
  /// that point to one object of a class hold one instance. Those behind a ``Reference`` are retrieved when they are
  /// first read. An optional that points to a deleted object is nil.
  ///
  /// Objects may lead to each other through tens of thousands of plain properties. From some depth on they are made on
  /// other threads than the caller's, one at a time, so an `init(from:)` cannot rely on its thread; nor may it change
  /// the garage.
  ///
  /// - Parameter identifier: A `String`, a `UUID`, or of another type that is `LosslessStringConvertible`.
  /// - Throws: `DecodingError`, in whose context the ``GarageError`` is, for ``GarageError/Code/undecodable`` and
  ///   ``GarageError/Code/missingReference``; ``GarageError/Code/unsupportedIDConformance`` for an identifier of another
  ///   type, and for a nil; ``GarageError/Code/cycle``, ``GarageError/Code/missingEncryptionDelegate``,
  ///   ``GarageError/Code/damaged``, ``GarageError/Code/storageFailed``. What is stored is kept.
  public func retrieve<T: Decodable, ID>(_ objectType: T.Type, identifier: ID) throws -> T? {
    let key = ObjectKey(TypeIdentity.of(objectType), try TypeIdentity.text(ofIdentifier: identifier))
    return try retrieving { try $0.root(objectType, key) }
  }

  /// Retrieves all objects of a type, from one moment, in the order of their identifiers' bytes.
  ///
  /// - Throws: as ``retrieve(_:identifier:)`` does, if any of them cannot be read.
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
