#if canImport(Foundation)
  public import Foundation

  extension EFSingleInstanceStorageReferenceWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      // As that of members: who is told of a failure may use the property.
      nonmutating set {
        var wrapper = self
        wrapper.wrappedValue = Content(string: newValue)
      }
    }
  }
#endif
