import Foundation

/// One object of a reference, or the information to retrieve it.
// @unchecked: variables are accessed with `lock` held. Users share the object at their discretion.
final class ReferenceBox<Object: Codable & Identifiable>: @unchecked Sendable {
  private struct Origin {
    let source: ObjectSource
    let reference: ObjectReference
    let identities: IdentityMap
  }

  private let lock = NSLock()
  private let origin: Origin?
  private var object: Object?
  private var lastFailure: (any Error)?

  init(_ object: Object) {
    origin = nil
    self.object = object
  }

  init(_ reference: ObjectReference, _ session: RetrievalSession) {
    origin = Origin(source: session.source, reference: reference, identities: session.identities)
  }

  var loaded: Object? { lock.withLock { object } }
  var failure: (any Error)? { lock.withLock { lastFailure } }

  var identifier: String? { origin?.reference.identifier ?? loaded.flatMap { TypeIdentity.identifier(of: $0) } }

  /// Equal for two references to the same object.
  var target: [String] {
    let type = origin?.reference.type ?? TypeIdentity.of(Object.self).name
    return [type, identifier ?? ""]
  }

  func resolve() throws -> Object {
    if let object = loaded { return object }
    guard let origin else { throw GarageError.failedToRetrieveObject(TypeIdentity.of(Object.self).shortName, "") }
    do {
      var found: Object?
      try origin.source.read { view, dates in
        let session = RetrievalSession(origin.source, view, dates: dates, identities: origin.identities)
        found = try session.resolve(Object.self, origin.reference)
      }
      guard let found else { preconditionFailure("The garage read nothing, and said nothing.") }
      return lock.withLock {
        lastFailure = nil
        // If another thread was faster, its object wins.
        let object = object ?? found
        self.object = object
        return object
      }
    } catch {
      lock.withLock { lastFailure = error }
      throw error
    }
  }

  /// Whether the object was deleted, not just unavailable.
  var isMissing: Bool { (failure as? GarageError)?.code == .failedToRetrieveObject }

  func unload() {
    lock.withLock { if origin != nil { object = nil } }
  }

  /// Encodes the object's reference or identifier. Does not retrieve an unread object.
  func encode(into slot: EncodingSlot, _ session: ParkingSession, at path: [any CodingKey]) throws {
    // A session without a garage creates identifiers, which do not depend on whether the object was read.
    if loaded == nil, let origin, session.garage == nil || origin.source.garage === session.garage {
      return slot.set(.reference(to: ObjectKey(origin.reference)))
    }
    try session.encode(try resolve(), into: slot, at: path)
  }
}
