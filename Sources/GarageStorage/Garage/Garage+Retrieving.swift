public import Foundation

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
  /// - Throws: ``GarageError/Code/undecodable``, ``GarageError/Code/cycle``,
  ///   ``GarageError/Code/missingReference``, ``GarageError/Code/missingEncryptionDelegate``,
  ///   ``GarageError/Code/damaged``, ``GarageError/Code/storageFailed``. What is stored is kept.
  public func retrieve<T: Decodable>(_ objectType: T.Type, identifier: some LosslessStringConvertible) throws -> T? {
    try retrieve(objectType, key: ObjectKey(TypeIdentity.of(objectType), String(identifier)))
  }

  /// The same, of an object whose identifier is a `UUID`.
  public func retrieve<T: Decodable>(_ objectType: T.Type, identifier: UUID) throws -> T? {
    try retrieve(objectType, key: ObjectKey(TypeIdentity.of(objectType), identifier.uuidString))
  }

  private func retrieve<T: Decodable>(_ type: T.Type, key: ObjectKey) throws -> T? {
    try retrieving { try $0.root(type, key) }
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
