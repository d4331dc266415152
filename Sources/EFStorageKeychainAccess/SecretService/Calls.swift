import CSecret

/// Every call of libsecret, GIO and GLib in this module, except those for variants in `Variant.swift`. All waits have a
/// deadline.
///
/// It avoids four behaviors of GIO and libsecret:
///
/// - `g_bus_get` shares a connection that ends the process when the bus does, and starts a missing bus. A private
///   connection does neither.
/// - libsecret's simple functions choose a backend by the environment, which may be a file. Only a proxy of the service
///   on the private connection is used, to encrypt and decrypt.
/// - Its functions that may prompt, to unlock, create or delete, answer a cancellation with `Dismiss`, and then wait
///   for the prompt's end without limit. `Dismiss` ends GNOME Keyring 42: see ``prompt(_:owner:path:shownBy:until:)``.
/// - Other calls wait for 25 seconds. ``Exchange`` calls the methods with a limit instead.
///
/// Threads: any. A wait runs a separate main context, never the caller's.
enum Calls {
  // MARK: - Environment

  /// `nil` also if the program runs with more rights than its caller, since the caller sets the variables.
  static func environmentVariable(_ name: String) -> String? {
    secure_getenv(name).map { String(cString: $0) }
  }

  // MARK: - Connection

  /// A connection to the message bus at `address`, registered with it. Release it with ``close(_:)``.
  static func connect(to address: String, until deadline: Deadline) throws(CallFailure) -> OpaquePointer {
    let flags = GDBusConnectionFlags(
      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
        | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
    return try wait(until: deadline) { cancellable, callback, data in
      g_dbus_connection_new_for_address(address, flags, nil, cancellable, callback, data)
    } finish: { result, error in
      g_dbus_connection_new_for_address_finish(result, error)
    }
  }

  static func isClosed(_ connection: OpaquePointer) -> Bool {
    g_dbus_connection_is_closed(connection) != 0
  }

  static func close(_ connection: OpaquePointer) {
    g_dbus_connection_close(connection, nil, nil, nil)
    g_object_unref(gpointer(connection))
  }

  /// Calls a method and waits for its reply of the type `reply`.
  static func call(
    _ connection: OpaquePointer, to name: String, path: String, interface: String, method: String,
    _ arguments: Variant?, reply: StaticString, until deadline: Deadline
  ) throws(CallFailure) -> Variant {
    guard let timeout = deadline.remainingMilliseconds else { throw .timedOut }
    var error: UnsafeMutablePointer<GError>?
    let answer = g_dbus_connection_call_sync(
      connection, name, path, interface, method, arguments?.pointer, Variant.type(reply),
      G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout, nil, &error)
    guard let answer else { throw failure(taking: error) }
    return Variant(owning: answer)
  }

  // MARK: - Session

  /// A proxy of the service with the bus name `owner` and an open session. Release it with ``release(_:)``.
  static func openService(
    _ connection: OpaquePointer, owner: String, until deadline: Deadline
  ) throws(CallFailure) -> OpaquePointer {
    var error: UnsafeMutablePointer<GError>?
    guard let service = csecret_service_new(serviceType, connection, owner, &error) else {
      throw failure(taking: error)
    }
    do {
      let isOpen: Bool = try wait(until: deadline) { cancellable, callback, data in
        secret_service_ensure_session(service, cancellable, callback, data)
      } finish: { result, error in
        secret_service_ensure_session_finish(service, result, error) != 0 ? true : nil
      }
      precondition(isOpen)
    } catch {
      release(service)
      throw error
    }
    return service
  }

  /// `SecretService` on a given connection.
  ///
  /// libsecret's constructor resets every property, so that the proxy uses GIO's shared connection. The constructor of
  /// this derived type then restores its arguments.
  private static let serviceType: GType = {
    let name = "LMDBCachingSecretService"
    // Registered before if this code is in the process twice.
    let registered = g_type_from_name(name)
    guard registered == 0 else { return registered }
    var parent = GTypeQuery()
    g_type_query(secret_service_get_type(), &parent)
    let type = g_type_register_static_simple(
      parent.type, name, parent.class_size,
      { classPointer, _ in
        classPointer?.assumingMemoryBound(to: GObjectClass.self).pointee.constructor = { type, count, properties in
          let parent = g_type_class_peek(secret_service_get_type())!.assumingMemoryBound(to: GObjectClass.self)
          let object = parent.pointee.constructor(type, count, properties)
          for property in UnsafeBufferPointer(start: properties, count: Int(count)) {
            guard let name = g_param_spec_get_name(property.pspec).map({ String(cString: $0) }) else { continue }
            if ["g-bus-type", "g-name", "g-flags"].contains(name) {
              g_object_set_property(object, name, property.value)
            }
          }
          return object
        }
      }, parent.instance_size, nil, 0)
    precondition(type != 0, "GObject did not register \(name)")
    return type
  }()

  static func release(_ service: OpaquePointer) {
    g_object_unref(gpointer(service))
  }

  static func sessionPath(_ service: OpaquePointer) -> String? {
    secret_service_get_session_dbus_path(service).map { String(cString: $0) }
  }

  // MARK: - Secrets

  /// A secret value with a copy of the bytes, in memory that is not paged out as far as the limit on locked memory
  /// allows. Release it with ``releaseSecret(_:)``.
  static func makeSecret(_ bytes: UnsafeRawBufferPointer, contentType: String) -> OpaquePointer {
    guard let start = bytes.baseAddress else { return secret_value_new("", 0, contentType) }
    return secret_value_new(start.assumingMemoryBound(to: CChar.self), bytes.count, contentType)
  }

  /// Valid until the value is released.
  static func bytes(ofSecret value: OpaquePointer) -> UnsafeRawBufferPointer {
    var count: gsize = 0
    let start = secret_value_get(value, &count)
    return UnsafeRawBufferPointer(start: start, count: Int(count))
  }

  /// Releases the value, and overwrites it with the last reference.
  static func releaseSecret(_ value: OpaquePointer) {
    secret_value_unref(gpointer(value))
  }

  /// The secret in the form of a message, `(oayays)`, encrypted if the session is.
  static func encode(_ value: OpaquePointer, for service: OpaquePointer) -> Variant? {
    secret_service_encode_dbus_secret(service, value).map { Variant(sinking: $0) }
  }

  /// The secret of a message, or `nil` if it belongs to another session. Release it with ``releaseSecret(_:)``.
  static func decode(_ secret: Variant, from service: OpaquePointer) -> OpaquePointer? {
    secret_service_decode_dbus_secret(service, secret.pointer)
  }

  // MARK: - Prompts

  /// Shows a prompt and waits for its result, `nil` if it was dismissed.
  ///
  /// Fails with ``CallFailure/timedOut`` at the deadline, or at the earlier `limit` if the service has not shown the
  /// prompt by then. The prompt is left to the service, never dismissed: `Dismiss` on a prompt to unlock makes GNOME
  /// Keyring 42 fail an assertion and end.
  static func prompt(
    _ connection: OpaquePointer, owner: String, path: String, shownBy limit: Deadline, until deadline: Deadline
  ) throws(CallFailure) -> Variant? {
    let context = g_main_context_new()
    g_main_context_push_thread_default(context)
    let state = PromptState()
    let data = Unmanaged.passUnretained(state).toOpaque()
    let completed = g_dbus_connection_signal_subscribe(
      connection, owner, promptInterface, "Completed", path, nil, G_DBUS_SIGNAL_FLAGS_NONE,
      { _, _, _, _, _, parameters, data in
        guard let parameters, let data else { return }
        Unmanaged<PromptState>.fromOpaque(data).takeUnretainedValue().complete(Variant(retaining: parameters))
      }, data, nil)
    let ended = g_dbus_connection_signal_subscribe(
      connection, "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged", nil, owner,
      G_DBUS_SIGNAL_FLAGS_NONE,
      { _, _, _, _, _, _, data in
        guard let data else { return }
        Unmanaged<PromptState>.fromOpaque(data).takeUnretainedValue().end = .disconnected
      }, data, nil)
    // Wakes the wait below to check the time and the connection, whose end makes no signal.
    let tick = g_timeout_source_new(100)
    g_source_set_callback(tick, { _ in 1 }, nil, nil)
    _ = g_source_attach(tick, context)
    defer {
      g_source_destroy(tick)
      g_source_unref(tick)
      g_dbus_connection_signal_unsubscribe(connection, completed)
      g_dbus_connection_signal_unsubscribe(connection, ended)
      g_main_context_pop_thread_default(context)
      g_main_context_unref(context)
    }
    _ = try call(
      connection, to: owner, path: path, interface: promptInterface, method: "Prompt", .tuple([.string("")]),
      reply: "()", until: limit)
    while true {
      switch state.end {
      case .completed(let result): return result
      case .dismissed: return nil
      case .disconnected: throw CallFailure(.disconnected, message: "the service ended while it prompted")
      case nil: break
      }
      if isClosed(connection) { throw CallFailure(.disconnected, message: "the bus ended during a prompt") }
      if deadline.remainingMilliseconds == nil { throw .timedOut }
      g_main_context_iteration(context, 1)
    }
  }

  private static let promptInterface = "org.freedesktop.Secret.Prompt"

  /// The end of a prompt. Used by the one thread that runs the context of its signals.
  private final class PromptState {
    enum End {
      case completed(Variant), dismissed, disconnected
    }
    var end: End?

    func complete(_ parameters: Variant) {
      guard end == nil else { return }
      guard parameters.count == 2, let isDismissed = parameters[0].boolean else {
        end = .dismissed
        return
      }
      end = isDismissed ? .dismissed : .completed(parameters[1].unboxed)
    }
  }

  // MARK: - Waiting

  private typealias Callback = @convention(c) (OpaquePointer?, OpaquePointer?, gpointer?) -> Void

  private final class Completion {
    var result: OpaquePointer?
  }

  /// Runs an asynchronous function of GIO to its end, cancelling it at the deadline.
  private static func wait<Value>(
    until deadline: Deadline,
    _ start: (OpaquePointer, @escaping Callback, gpointer) -> Void,
    finish: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Value?
  ) throws(CallFailure) -> Value {
    guard let timeout = deadline.remainingMilliseconds else { throw .timedOut }
    let context = g_main_context_new()
    g_main_context_push_thread_default(context)
    let cancellable = g_cancellable_new()!
    let timer = g_timeout_source_new(guint(timeout))
    g_source_set_callback(
      timer,
      { data in
        g_cancellable_cancel(data.map { OpaquePointer($0) })
        return 0
      }, gpointer(cancellable), nil)
    _ = g_source_attach(timer, context)
    let completion = Completion()
    defer {
      g_source_destroy(timer)
      g_source_unref(timer)
      g_object_unref(gpointer(cancellable))
      g_main_context_pop_thread_default(context)
      g_main_context_unref(context)
    }

    start(
      cancellable,
      { _, result, data in
        guard let result, let data else { return }
        g_object_ref(gpointer(result))
        Unmanaged<Completion>.fromOpaque(data).takeUnretainedValue().result = result
      }, Unmanaged.passUnretained(completion).toOpaque())
    // The callback always comes: all functions used here honor the cancellation.
    while completion.result == nil { g_main_context_iteration(context, 1) }
    let result = completion.result!
    defer { g_object_unref(gpointer(result)) }
    var error: UnsafeMutablePointer<GError>?
    guard let value = finish(result, &error) else { throw failure(taking: error) }
    return value
  }

  // MARK: - Failures

  /// Converts and frees the error.
  private static func failure(taking error: UnsafeMutablePointer<GError>?) -> CallFailure {
    guard let error else { return CallFailure(.other, message: "failed and did not say why") }
    defer { g_error_free(error) }
    if let name = g_dbus_error_get_remote_error(error) {
      defer { g_free(name) }
      g_dbus_error_strip_remote_error(error)
      return CallFailure(remote: String(cString: name), message: message(of: error))
    }
    let domain = g_quark_to_string(error.pointee.domain).map { String(cString: $0) } ?? "unknown"
    return CallFailure(kind(of: error), name: "\(domain) \(error.pointee.code)", message: message(of: error))
  }

  private static func message(of error: UnsafeMutablePointer<GError>) -> String {
    error.pointee.message.map { String(cString: $0) } ?? ""
  }

  private static func kind(of error: UnsafeMutablePointer<GError>) -> CallFailure.Kind {
    guard error.pointee.domain == g_io_error_quark() else { return .other }
    switch GIOErrorEnum(rawValue: CUnsignedInt(bitPattern: error.pointee.code)) {
    // Only a deadline cancels here.
    case G_IO_ERROR_TIMED_OUT, G_IO_ERROR_CANCELLED: return .timedOut
    case G_IO_ERROR_CLOSED, G_IO_ERROR_BROKEN_PIPE, G_IO_ERROR_NOT_CONNECTED: return .disconnected
    default: return .other
    }
  }
}
