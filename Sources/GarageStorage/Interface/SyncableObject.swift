public import Foundation

/// A ``MappableObject`` whose state with respect to a web service the garage keeps: what ``Syncable`` is, for classes.
public protocol SyncableObject: NSObjectProtocol, Syncable {
  var syncStatus: SyncStatus { get set }
}
