public import Foundation

/// A ``MappableObject`` whose sync status the garage stores, like ``Syncable``.
public protocol SyncableObject: NSObjectProtocol, Syncable {
  var syncStatus: SyncStatus { get set }
}
