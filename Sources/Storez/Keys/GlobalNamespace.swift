/// The namespace of keys that are in no other. It adds nothing to their names.
public enum GlobalNamespace: Namespace {
  public typealias parent = GlobalNamespace
  public static let id = ""
}
