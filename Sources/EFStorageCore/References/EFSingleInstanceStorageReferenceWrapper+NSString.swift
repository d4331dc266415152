#if canImport(Foundation)
  public import Foundation

  extension EFSingleInstanceStorageReferenceWrapper where Content: NSString {
    /// The content as a Swift string.
    public var string: String {
      get { wrappedValue as String }
      // Nonmutating, so that observers of failures may use the property.
      nonmutating set {
        var wrapper = self
        wrapper.wrappedValue = Content(string: newValue)
      }
    }
  }
#endif
