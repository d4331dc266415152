public import Foundation

extension Garage {
  /// Retrieves the object of a type with an identifier; nil: there is none.
  ///
  /// Objects it points to with plain properties are retrieved with it, all from one moment, each once: two properties
  /// that point to one object of a class hold one instance. Those behind a ``Reference`` are retrieved when they are
  /// first read. An optional property that points to a deleted object is nil.
  ///
  /// - Throws: ``GarageError/undecodable(_:_:_:)``, ``GarageError/cycle(path:)``,
  ///   ``GarageError/missingReference(_:_:path:)``, ``GarageError/missingEncryptionDelegate(_:)``,
  ///   ``GarageError/damaged(_:_:_:)``, ``GarageError/storageFailed(_:)``. What is stored is kept.
  public func retrieve<T: Decodable>(_ objectType: T.Type, identifier: some LosslessStringConvertible) throws -> T? {
    try retrieve(objectType, key: ObjectKey(TypeIdentity.of(objectType), String(identifier)))
  }

  /// The same, of an object whose identifier is a `UUID`.
  public func retrieve<T: Decodable>(_ objectType: T.Type, identifier: UUID) throws -> T? {
    try retrieve(objectType, key: ObjectKey(TypeIdentity.of(objectType), identifier.uuidString))
  }

  private func retrieve<T: Decodable>(_ type: T.Type, key: ObjectKey) throws -> T? {
    let dates = decodingOverride
    return try read { view in try RetrievalSession(self, view, dates: dates).root(type, key) }
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
    let dates = decodingOverride
    return try read { view in
      let session = RetrievalSession(self, view, dates: dates)
      return try records(view).map { try session.object(type, $0.0, $0.1) }
    }
  }
}
